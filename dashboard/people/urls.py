"""Participants of a study."""

from django.urls import path

from dashboard.people.pages import detail, invitations, listing, standing
from dashboard.quality.pages import review

urlpatterns = [
    path("", listing.people, name="people"),
    path("invite/", invitations.invite, name="invite"),
    path("invited/<str:batch>/", invitations.invited_links, name="invited_links"),
    path("<slug:pseudonym>/", detail.person, name="person"),
    path("<slug:pseudonym>/exclude/", standing.exclude, name="exclude"),
    path("<slug:pseudonym>/standing/", standing.set_standing, name="set_standing"),
    path("<slug:pseudonym>/link/", standing.persons_link, name="persons_link"),
    path("<slug:pseudonym>/groups/", standing.set_group, name="set_group"),
    path("<slug:pseudonym>/tests/", standing.tests, name="tests"),
    path("<slug:pseudonym>/review/", review.review_person, name="review_person"),
]
