"""Addresses for machines that watch this installation."""

from django.urls import path

from operations import views

app_name = "operations"
urlpatterns = [path("metrics", views.metrics, name="metrics")]
