"""Addresses of arrivals, personal links, handing in, and platforms' notifications."""

from django.urls import include, path

from recruitment.views import links, visits

# A personal link's token has a full stop in it, a slug has none.
_join = [
    path("<slug:slug>/", links.join, name="join"),
    path("<slug:slug>/<int:number>/", visits.campaign, name="campaign"),
    path("<str:token>/", links.arrive, name="arrive"),
]
_link = [
    path("again/", links.again, name="again"),
    path("confirm/<str:token>/", links.confirm, name="confirm"),
    path("work/<str:token>/you/email/", links.address, name="address"),
    path("work/<str:token>/hand-in/", visits.hand_in, name="hand_in"),
    path("hooks/<slug:platform>/<slug:environment>/", visits.hook, name="hook"),
]
urlpatterns = [path("join/", include((_join, "recruitment"))), path("", include((_link, "link")))]
