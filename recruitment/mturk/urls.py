"""Addresses under ``hooks/mturk/``."""

from django.urls import path

from recruitment.mturk import views

app_name = "mturk"
urlpatterns = [
    path("<slug:environment>/", views.hook, name="hook"),
]
