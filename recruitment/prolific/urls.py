"""Addresses under ``hooks/prolific/``."""

from django.urls import path

from recruitment.prolific import views

app_name = "prolific"
urlpatterns = [
    path("<slug:environment>/", views.hook, name="hook"),
]
