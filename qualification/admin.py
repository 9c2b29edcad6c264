from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.back_office import ReadOnlyAdmin, ReadOnlyInline
from accounts.models import User
from annotation.admin import CheckKeyAdmin, CheckResultAdmin
from annotation.models import CheckKey, CheckResult
from qualification.experts import closed_rounds, closed_texts
from qualification.models import (
    AcceptableOption,
    AnswerKey,
    Attempt,
    AttemptAnswer,
    ExpertAnswer,
    ExpertReview,
    KeyReason,
    Round,
    RoundStory,
)


class RoundStoryInline(ReadOnlyInline):
    model = RoundStory


class AcceptableOptionInline(ReadOnlyInline):
    model = AcceptableOption


class KeyReasonInline(ReadOnlyInline):
    model = KeyReason


def _closed_to(request: HttpRequest) -> frozenset[int]:
    """The rounds of whose stories the reader has still to answer one blind."""
    return closed_rounds(request.user) if isinstance(request.user, User) else frozenset()


def _texts_closed_to(request: HttpRequest) -> frozenset[str]:
    """The texts that the reader has still to answer blind."""
    return closed_texts(request.user) if isinstance(request.user, User) else frozenset()


class ExpertAnswerInline(ReadOnlyInline):
    model = ExpertAnswer

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExpertAnswer]:
        """Experts answer blind, for the back office too: only what has been laid open."""
        return ExpertAnswer.objects.laid_open().exclude(review__round__in=_closed_to(request))


class AttemptAnswerInline(ReadOnlyInline):
    model = AttemptAnswer

    def get_queryset(self, request: HttpRequest) -> QuerySet[AttemptAnswer]:
        """Graded answers tell the key, so they are closed to who still answers blind."""
        return AttemptAnswer.objects.exclude(attempt__round__in=_closed_to(request))


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    list_display = ("study", "number", "title", "state", "attempts_allowed", "pays_on_fail", "created_at")
    list_filter = ("state",)
    inlines = (RoundStoryInline,)


@admin.register(AnswerKey)
class AnswerKeyAdmin(ReadOnlyAdmin):
    list_display = ("round", "version", "created_by", "created_at")
    inlines = (AcceptableOptionInline, KeyReasonInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AnswerKey]:
        """Not those of stories that the reader has still to answer blind."""
        keys: QuerySet[AnswerKey] = super().get_queryset(request)
        return keys.exclude(round__in=_closed_to(request))


@admin.register(ExpertReview)
class ExpertReviewAdmin(ReadOnlyAdmin):
    list_display = ("round", "expert", "asked_at", "handed_in_at", "dismissed_at")
    inlines = (ExpertAnswerInline,)


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("id", "round", "enrollment", "number", "state", "passed", "started_at", "submitted_at")
    list_filter = ("state", "passed", "round__study")
    inlines = (AttemptAnswerInline,)


admin.site.unregister([CheckKey, CheckResult])


@admin.register(CheckKey)
class BlindCheckKeyAdmin(CheckKeyAdmin):
    """The keys of hidden checks, but for those of a text that the reader has still to answer blind."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[CheckKey]:
        keys: QuerySet[CheckKey] = super().get_queryset(request)
        return keys.exclude(story__text_hash__in=_texts_closed_to(request))


@admin.register(CheckResult)
class BlindCheckResultAdmin(CheckResultAdmin):
    """Which answers passed tells the key as well."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[CheckResult]:
        results: QuerySet[CheckResult] = super().get_queryset(request)
        return results.exclude(key__story__text_hash__in=_texts_closed_to(request))
