"""The front page and the researchers' pages."""

from __future__ import annotations

from django.urls import path

from dashboard import views
from dashboard.pages import (
    baseline,
    creating,
    exclusion,
    filters,
    importing,
    invitation,
    joining,
    log,
    members,
    overview,
    quality,
    review,
    setting_up,
    statement,
    stories,
)

app_name = "dashboard"
urlpatterns = [
    path("", views.home, name="home"),
    path("invited/<str:token>/", invitation.invited, name="invited"),
    path("studies/", views.studies, name="studies"),
    path("studies/new/", creating.new_study, name="new_study"),
    path("studies/new/preview/", creating.preview_new, name="preview_new"),
    path("studies/new/from-file/", creating.study_from_file, name="study_from_file"),
    path("studies/<slug:slug>/", overview.study, name="study"),
    path("studies/<slug:slug>/set-up/", setting_up.set_up, name="set_up"),
    path("studies/<slug:slug>/set-up/consent/", setting_up.consent, name="new_consent"),
    path("studies/<slug:slug>/set-up/test/", setting_up.test, name="choose_test"),
    path("studies/<slug:slug>/preview/", setting_up.preview, name="preview"),
    path("studies/<slug:slug>/clone/", creating.clone, name="clone"),
    path("studies/<slug:slug>/configuration.json", creating.configuration, name="configuration"),
    path("studies/<slug:slug>/stories/import/", importing.import_stories, name="import_stories"),
    path("studies/<slug:slug>/stories/import/<int:number>/", importing.import_report, name="import_report"),
    path(
        "studies/<slug:slug>/stories/import/<int:number>/problems.csv",
        importing.import_problems,
        name="import_problems",
    ),
    path("studies/<slug:slug>/leases/<int:number>/release/", overview.release_lease, name="release_lease"),
    path("studies/<slug:slug>/quality/", quality.quality, name="quality"),
    path("studies/<slug:slug>/quality/<slug:table>.csv", quality.quality_file, name="quality_file"),
    path("studies/<slug:slug>/people/<slug:pseudonym>/", quality.person, name="person"),
    path("studies/<slug:slug>/people/<slug:pseudonym>/exclude/", exclusion.exclude, name="exclude"),
    path("studies/<slug:slug>/stories/", stories.stories, name="stories"),
    path("studies/<slug:slug>/stories/<path:story_id>/", stories.story, name="story"),
    path("studies/<slug:slug>/review/", review.review, name="review"),
    path("studies/<slug:slug>/review/<int:number>/", review.sample, name="review_sample"),
    path("studies/<slug:slug>/review/<int:number>/<int:position>/", review.item, name="review_item"),
    path("studies/<slug:slug>/members/", members.members, name="members"),
    path("studies/<slug:slug>/members/<int:user_id>/", members.member, name="member"),
    path(
        "studies/<slug:slug>/invitations/<int:number>/revoke/",
        members.revoke_invitation,
        name="revoke_invitation",
    ),
    path("studies/<slug:slug>/log/", log.log, name="log"),
    path("studies/<slug:slug>/log.<str:kind>", log.log_file, name="log_file"),
    path("studies/<slug:slug>/filters/", filters.filters, name="filters"),
    path("studies/<slug:slug>/publish/", filters.publish, name="publish"),
    path("studies/<slug:slug>/joining/", joining.joining, name="joining"),
    path("studies/<slug:slug>/statement/", statement.statement, name="statement"),
    path("studies/<slug:slug>/accuracy/", baseline.accuracy, name="accuracy"),
    path("studies/<slug:slug>/accuracy.<str:kind>", baseline.accuracy_file, name="accuracy_file"),
    path("studies/<slug:slug>/releases/<int:number>/baseline/", baseline.draw, name="draw_baseline"),
    path("studies/<slug:slug>/<str:move>/", overview.change_state, name="change_state"),
]
