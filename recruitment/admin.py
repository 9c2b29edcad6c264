from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.access import researcher
from accounts.back_office import ReadOnlyAdmin
from annotation.actions import revoke_link
from annotation.admin import EnrollmentAdmin, each
from annotation.models import Enrollment
from recruitment.actions import send_link
from recruitment.errors import RecruitmentError
from recruitment.models import (
    Campaign,
    Difference,
    Grant,
    JoinLink,
    LinkPayment,
    Payment,
    PaymentOrder,
    Posting,
    Submission,
    Visit,
)

admin.site.unregister(Enrollment)


@admin.register(Enrollment)
class LinkedEnrollmentAdmin(EnrollmentAdmin):
    """The people of the back office, whose links can be sent and revoked from this room on."""

    actions: tuple[str, ...] = (*EnrollmentAdmin.actions, "send_link_selected", "revoke_link_selected")

    @admin.action(description=_("Send the personal link by e-mail"))
    def send_link_selected(self, request: HttpRequest, queryset: QuerySet[Enrollment]) -> None:
        by = researcher(request)
        each(
            request,
            queryset.select_related("study"),
            lambda person: send_link(enrollment=person, by=by),
            _("is sent their link."),
            refusals=RecruitmentError,
        )

    @admin.action(description=_("Revoke the personal link"))
    def revoke_link_selected(self, request: HttpRequest, queryset: QuerySet[Enrollment]) -> None:
        by = researcher(request)
        each(
            request,
            queryset,
            lambda person: revoke_link(enrollment=person, by=by, now=timezone.now()),
            _("has no working link any more. Send a new one."),
        )


@admin.register(JoinLink)
class JoinLinkAdmin(ReadOnlyAdmin):
    list_display = ("study", "parameter", "source", "return_url", "set_at")


@admin.register(Visit)
class VisitAdmin(ReadOnlyAdmin):
    list_display = ("id", "enrollment", "platform", "environment", "arrived_at")
    list_filter = ("platform", "environment", "enrollment__study")


@admin.register(Campaign)
class CampaignAdmin(ReadOnlyAdmin):
    list_display = ("id", "study", "number", "platform", "environment", "purpose", "state", "seats")
    list_filter = ("platform", "environment", "purpose", "state", "study")


@admin.register(Posting)
class PostingAdmin(ReadOnlyAdmin):
    list_display = ("id", "campaign", "number", "state", "seats", "remote_id", "made_at", "synced_at")
    list_filter = ("state", "campaign")


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    """Pieces of work. Whose they are on the platform stands in another table, and not here."""

    list_display = ("id", "campaign", "annotator", "status", "submitted_at", "seen_at")
    list_filter = ("status", "platform", "environment", "campaign")


@admin.register(Payment)
class PaymentAdmin(ReadOnlyAdmin):
    list_display = ("id", "submission", "kind", "amount", "currency", "state", "tries", "requested_at")
    list_filter = ("kind", "state", "submission__campaign")


@admin.register(LinkPayment)
class LinkPaymentAdmin(ReadOnlyAdmin):
    list_display = ("id", "enrollment", "amount", "currency", "reason", "noted_by", "noted_at")
    list_filter = ("enrollment__study",)


@admin.register(PaymentOrder)
class PaymentOrderAdmin(ReadOnlyAdmin):
    list_display = ("id", "campaign", "kind", "amount", "written", "wanted", "requested_by", "finished_at")
    list_filter = ("kind", "campaign")


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin):
    list_display = ("id", "study", "annotator", "kind", "state", "tries", "problem", "requested_at")
    list_filter = ("kind", "state", "study")


@admin.register(Difference)
class DifferenceAdmin(ReadOnlyAdmin):
    list_display = ("id", "campaign", "kind", "noticed_at", "settled_at", "settled_by")
    list_filter = ("kind", "campaign")
