"""The overview of a study, its state and its active leases."""

from django.urls import path

from dashboard.charts import pages as charts
from dashboard.overview import pages as overview

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/leases/<int:number>/release/", overview.release_lease, name="release_lease"),
    path("overview/charts/<slug:name>.<str:kind>", charts.chart_file, name="chart_file"),
    path("state/<str:move>/", overview.change_state, name="change_state"),
]
