"""Public addresses of releases."""

from django.urls import path
from django.views.decorators.http import require_safe

from publishing import views

app_name = "publishing"
urlpatterns = [
    path("", views.releases, name="releases"),
    path("feed/", require_safe(views.ReleaseFeed()), name="feed"),
    path("<slug:slug>/<int:number>/", views.release, name="release"),
    path("<slug:slug>/<int:number>/archive.<str:kind>", views.archive, name="archive"),
    path("<slug:slug>/<int:number>/files/<path:path>", views.file, name="file"),
]
