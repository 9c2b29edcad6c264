"""Campaigns, the join link, payments and mismatches."""

from django.urls import path

from dashboard.recruitment.pages import campaigns, join_link, mismatches, payments, platform_ids, submissions

urlpatterns = [
    path("", campaigns.recruitment, name="recruitment"),
    path("new/<str:platform>/<str:purpose>/", campaigns.new_campaign, name="new_campaign"),
    path("<int:number>/", campaigns.campaign, name="campaign"),
    path("<int:number>/change/", campaigns.change_campaign, name="change_campaign"),
    path("<int:number>/discard/", campaigns.discard_campaign, name="discard_campaign"),
    path("<int:number>/submissions/", submissions.submissions, name="submissions"),
    path("find/", platform_ids.find_by_id, name="find_by_id"),
    path("<int:number>/<str:move>/", campaigns.move_campaign, name="move_campaign"),
    path("mismatches/", mismatches.mismatches, name="mismatches"),
    path("mismatches/alike/", mismatches.settle_mismatches, name="settle_mismatches"),
    path("mismatches/<int:number>/", mismatches.settle_mismatch, name="settle_mismatch"),
    path("mismatches/<int:number>/ids/", platform_ids.mismatch_ids, name="mismatch_ids"),
    path("submissions/<int:number>/ids/", platform_ids.submission_ids, name="submission_ids"),
    path("submissions/<int:number>/decide/", submissions.decide_submission, name="decide_submission"),
    path("payments/<int:number>/again/", payments.retry_payment, name="retry_payment"),
    path("payments/<int:number>/back/", submissions.undo_rejection, name="undo_rejection"),
    path("payments/<int:number>/outside/", payments.note_external_payment, name="note_external_payment"),
    path("payments/of/<int:number>/again/", payments.retry_payments, name="retry_payments"),
    path("payments/", payments.payments, name="payments"),
    path("payments.csv", payments.payments_file, name="payments_file"),
    path("join-link/", join_link.join_link, name="join_link"),
    path("join-link/change/", join_link.change_join_link, name="change_join_link"),
    path("join-link/close/", join_link.close_join_link, name="close_join_link"),
    path("amounts-due/paid/", join_link.note_amounts_paid, name="note_amounts_paid"),
    path("amounts-due.csv", join_link.amounts_due_file, name="amounts_due_file"),
]
