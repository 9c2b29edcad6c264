"""The front page and the researchers' pages."""

from __future__ import annotations

from django.urls import path

from dashboard import views
from dashboard.pages import (
    baseline,
    exclusion,
    filters,
    invitation,
    joining,
    members,
    overview,
    quality,
    review,
    statement,
    stories,
)

app_name = "dashboard"
urlpatterns = [
    path("", views.home, name="home"),
    path("invited/<str:token>/", invitation.invited, name="invited"),
    path("studies/", views.studies, name="studies"),
    path("studies/<slug:slug>/", overview.study, name="study"),
    path("studies/<slug:slug>/leases/<int:number>/release/", overview.release_lease, name="release_lease"),
    path("studies/<slug:slug>/quality/", quality.quality, name="quality"),
    path("studies/<slug:slug>/quality/<slug:table>.csv", quality.quality_file, name="quality_file"),
    path("studies/<slug:slug>/people/<slug:pseudonym>/", quality.person, name="person"),
    path("studies/<slug:slug>/members/", members.members, name="members"),
    path("studies/<slug:slug>/members/<int:user_id>/", members.member, name="member"),
    path(
        "studies/<slug:slug>/invitations/<int:number>/revoke/",
        members.revoke_invitation,
        name="revoke_invitation",
    ),
    path("studies/<slug:slug>/people/<slug:pseudonym>/exclude/", exclusion.exclude, name="exclude"),
    path("studies/<slug:slug>/stories/", stories.stories, name="stories"),
    path("studies/<slug:slug>/stories/<path:story_id>/", stories.story, name="story"),
    path("studies/<slug:slug>/review/", review.review, name="review"),
    path("studies/<slug:slug>/review/<int:number>/", review.sample, name="review_sample"),
    path("studies/<slug:slug>/review/<int:number>/<int:position>/", review.item, name="review_item"),
    path("studies/<slug:slug>/filters/", filters.filters, name="filters"),
    path("studies/<slug:slug>/publish/", filters.publish, name="publish"),
    path("studies/<slug:slug>/joining/", joining.joining, name="joining"),
    path("studies/<slug:slug>/statement/", statement.statement, name="statement"),
    path("studies/<slug:slug>/accuracy/", baseline.accuracy, name="accuracy"),
    path("studies/<slug:slug>/accuracy.<str:kind>", baseline.accuracy_file, name="accuracy_file"),
    path("studies/<slug:slug>/releases/<int:number>/baseline/", baseline.draw, name="draw_baseline"),
    path("studies/<slug:slug>/<str:move>/", overview.change_state, name="change_state"),
]
