"""Addresses of the test, under ``work/<token>/qualification/``."""

from django.urls import path

from qualification import practice_views, views

app_name = "qualification"
urlpatterns = [
    path("", views.intro, name="intro"),
    path("practice/<int:position>/", practice_views.practice, name="practice"),
    path("practice/<int:position>/answers/", practice_views.practised, name="practised"),
    path("<int:position>/", views.story, name="story"),
    path("review/", views.review, name="review"),
    path("result/", views.result, name="result"),
]
