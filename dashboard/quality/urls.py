"""Agreement, hidden checks, review, decisions and filters."""

from django.urls import path

from dashboard.quality.pages import decisions, figures, hidden_checks, review, skips

urlpatterns = [
    path("", figures.quality, name="quality"),
    path("hidden-checks/", hidden_checks.hidden_checks, name="hidden_checks"),
    path("hidden-checks/answers/", hidden_checks.hidden_check_keys, name="hidden_check_keys"),
    path("hidden-checks/<int:number>/", hidden_checks.hidden_check, name="hidden_check"),
    path("review/", review.review, name="review"),
    path("review/<int:number>.csv", review.sample_file, name="review_sample_file"),
    path("review/<int:number>/", review.sample, name="review_sample"),
    path("review/<int:number>/<int:position>/", review.item, name="review_item"),
    path("decisions/", decisions.decisions, name="decisions"),
    path("decisions.csv", decisions.decisions_file, name="decisions_file"),
    path("decisions/next/", decisions.next_decision, name="next_decision"),
    path("decisions/of/<path:story_id>/", decisions.decide_story, name="decide_story"),
    path("skips/", skips.skips, name="skips"),
    path("skips.csv", skips.skips_file, name="skips_file"),
    path("filters/", figures.filters, name="filters"),
    path("<slug:table>.csv", figures.quality_file, name="quality_file"),
]
