"""The addresses of the API, version 1."""

from django.urls import path

from api import openapi, releases, stories, studies

app_name = "api"
urlpatterns = [
    path("openapi.yaml", openapi.openapi, name="openapi"),
    path("token/", studies.TokenView.as_view(), name="token"),
    path("studies/", studies.StudiesView.as_view(), name="studies"),
    path("studies/<slug:slug>/", studies.OneStudyView.as_view(), name="study"),
    path("studies/<slug:slug>/state/", studies.StateView.as_view(), name="state"),
    path("studies/<slug:slug>/stories/", stories.StoriesView.as_view(), name="stories"),
    path("studies/<slug:slug>/imports/", stories.ImportsView.as_view(), name="imports"),
    path("studies/<slug:slug>/imports/<int:number>/", stories.ImportView.as_view(), name="import"),
    path(
        "studies/<slug:slug>/imports/<int:number>/problems/",
        stories.ImportProblemsView.as_view(),
        name="import_problems",
    ),
    path("studies/<slug:slug>/progress/", studies.ProgressView.as_view(), name="progress"),
    path("studies/<slug:slug>/statistics/", studies.StatisticsView.as_view(), name="statistics"),
    path("studies/<slug:slug>/votes.jsonl", stories.JsonLinesView.as_view(), name="votes_jsonl"),
    path("studies/<slug:slug>/votes.csv", stories.CsvView.as_view(), name="votes_csv"),
    path("studies/<slug:slug>/releases/", releases.ReleasesView.as_view(), name="releases"),
    path("studies/<slug:slug>/releases/<int:number>/", releases.ReleaseView.as_view(), name="release"),
]
