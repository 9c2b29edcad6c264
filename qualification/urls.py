"""Addresses of the test, under ``work/<token>/qualification/``."""

from django.urls import path

from qualification.views import attempts, practice

app_name = "qualification"
urlpatterns = [
    path("", attempts.intro, name="intro"),
    path("practice/<int:position>/", practice.practice, name="practice"),
    path("practice/<int:position>/answers/", practice.practised, name="practised"),
    path("<int:position>/", attempts.story, name="story"),
    path("review/", attempts.review, name="review"),
    path("result/", attempts.result, name="result"),
]
