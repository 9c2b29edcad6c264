from __future__ import annotations

from django.contrib import admin

from accounts.back_office import ReadOnlyAdmin, ReadOnlyInline
from publishing.models import DataStatement, Deposit, DroppedReason, Release, ReleaseFile, Withdrawal


class ReleaseFileInline(ReadOnlyInline):
    model = ReleaseFile


class DroppedReasonInline(ReadOnlyInline):
    model = DroppedReason


class WithdrawalInline(ReadOnlyInline):
    model = Withdrawal


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = (
        "study", "number", "state", "environment", "kept", "dropped", "incomplete", "votes", "requested_by",
        "requested_at", "published_at",
    )  # fmt: skip
    list_filter = ("state", "environment", "study")
    inlines = (WithdrawalInline, ReleaseFileInline, DroppedReasonInline)


@admin.register(DataStatement)
class DataStatementAdmin(ReadOnlyAdmin):
    list_display = ("study", "version", "written_by", "written_at")
    list_filter = ("study",)


@admin.register(Deposit)
class DepositAdmin(ReadOnlyAdmin):
    list_display = ("release", "kind", "place", "state", "public", "requested_by", "requested_at", "done_at")
    list_filter = ("state", "kind", "release__study")
