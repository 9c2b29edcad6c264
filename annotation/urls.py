"""Under ``work/<token>/``: the pages of one visit."""

from __future__ import annotations

from django.urls import path

from annotation.views import own, work

app_name = "annotation"
urlpatterns = [
    path("", work.home, name="home"),
    path("consent/", work.consent, name="consent"),
    path("declined/", work.declined, name="declined"),
    path("instructions/", work.instructions, name="instructions"),
    path("stories/", work.stories, name="stories"),
    path("done/", work.done, name="done"),
    path("answers/", own.answers, name="answers"),
    path("answers/<int:assignment_id>/", own.change, name="change"),
    path("you/", own.own, name="own"),
    path("withdraw/", own.withdraw, name="withdraw"),
    path("forget/", own.forget, name="forget"),
]
