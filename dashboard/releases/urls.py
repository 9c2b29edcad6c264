"""Releases, the data statement, comparisons and the human baseline."""

from django.urls import path

from dashboard.releases.pages import comparison, data_statement, human_baseline, publish, releases

urlpatterns = [
    path("publish/", publish.publish, name="publish"),
    path("preview/", publish.preview_release, name="preview_release"),
    path("preview/<str:name>/<path:path>", publish.preview_chart, name="preview_chart"),
    path("data-statement/", data_statement.data_statement, name="data_statement"),
    path("human-baseline/", human_baseline.human_baseline, name="human_baseline"),
    path("human-baseline.<str:kind>", human_baseline.human_baseline_file, name="human_baseline_file"),
    path("", releases.releases, name="releases"),
    path("compare/", comparison.compare_releases, name="compare_releases"),
    path("compare.csv", comparison.compare_file, name="compare_file"),
    path("<int:number>/withdraw/", releases.withdraw_release, name="withdraw_release"),
    path("<int:number>/baseline/", human_baseline.draw_human_baseline, name="draw_human_baseline"),
]
