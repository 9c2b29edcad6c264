"""Addresses of arrivals, personal links, handing in, and platforms' notifications."""

from django.urls import include, path

from recruitment import views, visit_views

# A personal link's token has a full stop in it, a slug has none.
_join = [
    path("<slug:slug>/", views.join, name="join"),
    path("<slug:slug>/<int:number>/", visit_views.campaign, name="campaign"),
    path("<str:token>/", views.arrive, name="arrive"),
]
_link = [
    path("again/", views.again, name="again"),
    path("confirm/<str:token>/", views.confirm, name="confirm"),
    path("work/<str:token>/you/email/", views.address, name="address"),
    path("work/<str:token>/hand-in/", visit_views.hand_in, name="hand_in"),
    path("hooks/<slug:platform>/<slug:environment>/", visit_views.hook, name="hook"),
]
urlpatterns = [path("join/", include((_join, "recruitment"))), path("", include((_link, "link")))]
