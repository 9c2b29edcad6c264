"""Rounds of the test, their keys and their experts."""

from django.urls import path

from dashboard.qualification.pages import expert, round, rounds

urlpatterns = [
    path("", rounds.qualification, name="qualification"),
    path("new/", rounds.new_round, name="new_round"),
    path("<int:number>/", round.round, name="round"),
    path("<int:number>/key/", round.answer_key, name="answer_key"),
    path("<int:number>/expert/", expert.expert, name="expert"),
    path("<int:number>/expert/<int:position>/", expert.expert_story, name="expert_story"),
]
