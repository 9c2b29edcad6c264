"""URLs of the annotator's pages, under ``work/<visit token>/``."""

from django.urls import path

from annotation.views import account, work

app_name = "annotation"
urlpatterns = [
    path("stories/", work.stories, name="stories"),
    path("", work.home, name="home"),
    path("consent/", work.consent, name="consent"),
    path("intake/", work.intake, name="intake"),
    path("closing/", work.intake, {"at_end": True}, name="closing"),
    path("declined/", work.declined, name="declined"),
    path("instructions/", work.instructions, name="instructions"),
    path("lease/", work.renew, name="renew"),
    path("stop/", work.stop, name="stop"),
    path("stories/skip/", work.skip, name="skip"),
    path("done/", work.done, name="done"),
    path("answers/", account.answers, name="answers"),
    path("answers/last/", account.change_last, name="change_last"),
    path("answers/<int:assignment_id>/", account.change, name="change"),
    path("you/", account.own, name="own"),
    path("language/", account.language, name="language"),
    path("withdraw/", account.withdraw, name="withdraw"),
    path("forget/", account.forget, name="forget"),
]
