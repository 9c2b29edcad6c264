"""The front page, the list of studies, and the researchers' pages of a study, by entries of the menu."""

from django.urls import include, path

from dashboard import pages
from dashboard.overview.pages import overview
from dashboard.people.pages import given_items, people, person
from dashboard.qualification.pages import rounds
from dashboard.quality.pages import decisions, figures, hidden_checks, review
from dashboard.recruitment.pages import campaigns, join_link, mismatches, submissions
from dashboard.releases.pages import comparison, human_baseline, releases
from dashboard.settings.pages import alerts, api_tokens, log, mailed_links, members, new_study, study
from dashboard.stories.pages import revisions, stories

_overview = [
    path("", overview.overview, name="overview"),
    path("overview/leases/<int:number>/release/", overview.release_lease, name="release_lease"),
    path("overview/charts/<slug:name>.<str:kind>", overview.chart_file, name="chart_file"),
    path("state/<str:move>/", overview.change_state, name="change_state"),
]
_stories = [
    path("import/", stories.import_stories, name="import_stories"),
    path("import/<int:number>/", stories.import_report, name="import_report"),
    path("import/<int:number>/problems.csv", stories.import_problems, name="import_problems"),
    path("", stories.stories, name="stories"),
    path("stories.csv", stories.stories_file, name="stories_file"),
    path("votes.<str:kind>", stories.votes_file, name="votes_file"),
    path("decide/", stories.decide_stories, name="decide_stories"),
    path("<path:story_id>/revise/", revisions.revise, name="revise_story"),
    path("<path:story_id>/", stories.story, name="story"),
]
_people = [
    path("", people.people, name="people"),
    path("invite/", people.invite, name="invite"),
    path("invited/<str:batch>/", people.invited_links, name="invited_links"),
    path("stories/", given_items.given_items, name="given_items"),
    path("stories/<slug:pseudonym>/back/", given_items.take_back, name="take_items_back"),
    path("<slug:pseudonym>/", person.person, name="person"),
    path("<slug:pseudonym>/exclude/", person.exclude, name="exclude"),
    path("<slug:pseudonym>/standing/", person.set_standing, name="set_standing"),
    path("<slug:pseudonym>/link/", person.persons_link, name="persons_link"),
    path("<slug:pseudonym>/groups/", person.set_group, name="set_group"),
    path("<slug:pseudonym>/tests/", person.tests, name="tests"),
    path("<slug:pseudonym>/review/", review.review_person, name="review_person"),
]
_recruitment = [
    path("", campaigns.recruitment, name="recruitment"),
    path("new/<str:platform>/<str:purpose>/", campaigns.new_campaign, name="new_campaign"),
    path("<int:number>/", campaigns.campaign, name="campaign"),
    path("<int:number>/change/", campaigns.change_campaign, name="change_campaign"),
    path("<int:number>/discard/", campaigns.discard_campaign, name="discard_campaign"),
    path("<int:number>/submissions/", submissions.submissions, name="submissions"),
    path("find/", submissions.find_by_id, name="find_by_id"),
    path("<int:number>/<str:move>/", campaigns.move_campaign, name="move_campaign"),
    path("mismatches/", mismatches.mismatches, name="mismatches"),
    path("mismatches/alike/", mismatches.settle_mismatches, name="settle_mismatches"),
    path("mismatches/<int:number>/", mismatches.settle_mismatch, name="settle_mismatch"),
    path("mismatches/<int:number>/ids/", submissions.mismatch_ids, name="mismatch_ids"),
    path("submissions/<int:number>/ids/", submissions.submission_ids, name="submission_ids"),
    path("submissions/<int:number>/decide/", submissions.decide_submission, name="decide_submission"),
    path("payments/<int:number>/again/", submissions.retry_payment, name="retry_payment"),
    path("payments/<int:number>/back/", submissions.undo_rejection, name="undo_rejection"),
    path("payments/<int:number>/outside/", submissions.note_external_payment, name="note_external_payment"),
    path("payments/of/<int:number>/again/", submissions.retry_payments, name="retry_payments"),
    path("payments/", submissions.payments, name="payments"),
    path("payments.csv", submissions.payments_file, name="payments_file"),
    path("join-link/", join_link.join_link, name="join_link"),
    path("join-link/change/", join_link.change_join_link, name="change_join_link"),
    path("join-link/close/", join_link.close_join_link, name="close_join_link"),
    path("join-link/paid/", join_link.note_amounts_paid, name="note_amounts_paid"),
    path("amounts-due.csv", join_link.amounts_due_file, name="amounts_due_file"),
]
_qualification = [
    path("", rounds.qualification, name="qualification"),
    path("new/", rounds.new_round, name="new_round"),
    path("<int:number>/", rounds.round, name="round"),
    path("<int:number>/key/", rounds.answer_key, name="answer_key"),
    path("<int:number>/expert/", rounds.expert, name="expert"),
    path("<int:number>/expert/<int:position>/", rounds.expert_story, name="expert_story"),
]
_quality = [
    path("", figures.quality, name="quality"),
    path("hidden-checks/", hidden_checks.hidden_checks, name="hidden_checks"),
    path("hidden-checks/answers/", hidden_checks.hidden_check_keys, name="hidden_check_keys"),
    path("hidden-checks/<int:number>/", hidden_checks.hidden_check, name="hidden_check"),
    path("review/", review.review, name="review"),
    path("review/<int:number>.csv", review.sample_file, name="review_sample_file"),
    path("review/<int:number>/", review.sample, name="review_sample"),
    path("review/<int:number>/<int:position>/", review.item, name="review_item"),
    path("decisions/", decisions.decisions, name="decisions"),
    path("decisions.csv", decisions.decisions_file, name="decisions_file"),
    path("decisions/next/", decisions.next_decision, name="next_decision"),
    path("decisions/of/<path:story_id>/", decisions.decide_story, name="decide_story"),
    path("skips/", figures.skips, name="skips"),
    path("skips.csv", figures.skips_file, name="skips_file"),
    path("filters/", figures.filters, name="filters"),
    path("<slug:table>.csv", figures.quality_file, name="quality_file"),
]
_releases = [
    path("publish/", releases.publish, name="publish"),
    path("preview/", releases.preview_release, name="preview_release"),
    path("preview/<str:name>/<path:path>", releases.preview_chart, name="preview_chart"),
    path("data-statement/", releases.data_statement, name="data_statement"),
    path("human-baseline/", human_baseline.human_baseline, name="human_baseline"),
    path("human-baseline.<str:kind>", human_baseline.human_baseline_file, name="human_baseline_file"),
    path("", releases.releases, name="releases"),
    path("compare/", comparison.compare_releases, name="compare_releases"),
    path("compare.csv", comparison.compare_file, name="compare_file"),
    path("<int:number>/withdraw/", releases.withdraw_release, name="withdraw_release"),
    path("<int:number>/baseline/", human_baseline.draw_human_baseline, name="draw_human_baseline"),
]
_settings = [
    path("", study.settings, name="settings"),
    path("consent/", study.consent, name="new_consent"),
    path("instructions/", study.instructions, name="instructions"),
    path("test/", study.test, name="choose_test"),
    path("design/", study.design, name="design"),
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
    path("members/invitations/<int:number>/revoke/", members.revoke_invitation, name="revoke_invitation"),
    path("log/", log.log, name="log"),
    path("log.<str:kind>", log.log_file, name="log_file"),
]

app_name = "dashboard"
urlpatterns = [
    path("", pages.home, name="home"),
    path("invited/<str:token>/", mailed_links.invited, name="invited"),
    path("forgotten-password/", mailed_links.forgotten_password, name="forgotten_password"),
    path("new-password/<str:uidb64>:<str:token>/", mailed_links.NewPassword.as_view(), name="new_password"),
    path("api-tokens/", api_tokens.api_tokens, name="api_tokens"),
    path("api-tokens/revoke-all/", api_tokens.revoke_all_api_tokens, name="revoke_all_api_tokens"),
    path("api-tokens/<int:number>/revoke/", api_tokens.revoke_api_token, name="revoke_api_token"),
    path("studies/", pages.studies, name="studies"),
    path("studies/new/", new_study.new_study, name="new_study"),
    path("studies/new/preview/", new_study.preview_new, name="preview_new"),
    path("studies/new/from-file/", new_study.study_from_file, name="study_from_file"),
    path("studies/<slug:slug>/", include(_overview)),
    path("studies/<slug:slug>/stories/", include(_stories)),
    path("studies/<slug:slug>/people/", include(_people)),
    path("studies/<slug:slug>/recruitment/", include(_recruitment)),
    path("studies/<slug:slug>/qualification/", include(_qualification)),
    path("studies/<slug:slug>/quality/", include(_quality)),
    path("studies/<slug:slug>/releases/", include(_releases)),
    path("studies/<slug:slug>/settings/", include(_settings)),
]
