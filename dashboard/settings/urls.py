"""Settings, consent, configuration, members, and the log of a study."""

from django.urls import path

from dashboard.settings.pages import alerts, log, members, new_study, study

urlpatterns = [
    path("", study.settings, name="settings"),
    path("consent/", study.consent, name="new_consent"),
    path("instructions/", study.instructions, name="instructions"),
    path("test/", study.test, name="choose_test"),
    path("preview/", study.preview, name="preview"),
    path("clone/", new_study.clone, name="clone"),
    path("configuration/", new_study.configuration, name="configuration"),
    path("configuration.json", new_study.configuration_file, name="configuration_file"),
    path("alerts/", alerts.alerts, name="alerts"),
    path("alerts/test/", alerts.test, name="test_alert"),
    path("alerts/stalled/", alerts.stalled, name="stall_hours"),
    path("alerts/webhooks/", alerts.webhooks, name="add_webhook"),
    path("alerts/webhooks/<int:number>/remove/", alerts.remove, name="remove_webhook"),
    path("members/", members.members, name="members"),
    path("members/<int:user_id>/", members.member, name="member"),
    path("members/tokens/<int:number>/revoke/", members.revoke_token, name="revoke_members_token"),
    path("invitations/<int:number>/revoke/", members.revoke_invitation, name="revoke_invitation"),
    path("log/", log.log, name="log"),
    path("log.<str:kind>", log.log_file, name="log_file"),
]
