"""The front page, the list of studies, and the researchers' pages of a study."""

from django.urls import include, path

from dashboard import pages
from dashboard.settings.pages import api_tokens, invitation, new_study

app_name = "dashboard"
urlpatterns = [
    path("", pages.home, name="home"),
    path("invited/<str:token>/", invitation.invited, name="invited"),
    path("api-tokens/", api_tokens.api_tokens, name="api_tokens"),
    path("api-tokens/revoke-all/", api_tokens.revoke_all_api_tokens, name="revoke_all_api_tokens"),
    path("api-tokens/<int:number>/revoke/", api_tokens.revoke_api_token, name="revoke_api_token"),
    path("studies/", pages.studies, name="studies"),
    path("studies/new/", new_study.new_study, name="new_study"),
    path("studies/new/preview/", new_study.preview_new, name="preview_new"),
    path("studies/new/from-file/", new_study.study_from_file, name="study_from_file"),
    path("studies/<slug:slug>/", include("dashboard.overview.urls")),
    path("studies/<slug:slug>/stories/", include("dashboard.stories.urls")),
    path("studies/<slug:slug>/people/", include("dashboard.people.urls")),
    path("studies/<slug:slug>/recruitment/", include("dashboard.recruitment.urls")),
    path("studies/<slug:slug>/qualification/", include("dashboard.qualification.urls")),
    path("studies/<slug:slug>/quality/", include("dashboard.quality.urls")),
    path("studies/<slug:slug>/releases/", include("dashboard.releases.urls")),
    path("studies/<slug:slug>/settings/", include("dashboard.settings.urls")),
]
