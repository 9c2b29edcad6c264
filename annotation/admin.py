from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldBooleanSwitchWidget,
)

from accounts.access import researcher
from accounts.back_office import ReadOnlyAdmin, ReadOnlyInline
from annotation import actions
from annotation.actions.enrollments import LONGEST_REASON
from annotation.errors import AnnotationError
from annotation.models import (
    Answer,
    ApiToken,
    Assignment,
    CheckKey,
    CheckOption,
    CheckResult,
    ConsentText,
    Enrollment,
    Event,
    ImportProblem,
    LintFinding,
    Story,
    StoryImport,
    Study,
    Vote,
    WorkSession,
)


class ImportForm(forms.Form):
    """Which file to import, and as what."""

    file = forms.FileField(label=_("File"), widget=UnfoldAdminFileFieldWidget)
    role = forms.ChoiceField(label=_("Role"), choices=Story.Role.choices, widget=UnfoldAdminSelectWidget)
    dry_run = forms.BooleanField(
        label=_("Only check, save nothing"), required=False, widget=UnfoldBooleanSwitchWidget
    )

    def clean_file(self) -> UploadedFile[Any]:
        """The file, when it is not too large to keep."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > settings.IMPORT_MAX_MB * 1_000_000:
            raise forms.ValidationError(
                _("The file is larger than %(most)s MB. Give the stories in several files.")
                % {"most": settings.IMPORT_MAX_MB}
            )
        return file


class ReasonForm(forms.Form):
    """Why something is done to people."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_REASON,
        widget=UnfoldAdminTextareaWidget,
        help_text=_("Somebody who is suspended reads it on their page. It is in the audit log, too."),
    )


def each(
    request: HttpRequest,
    queryset: QuerySet[Any],
    act: Callable[[Any], object],
    done: str | Promise,
    *,
    refusals: type[Exception] = AnnotationError,
) -> None:
    """Run one action per selected row and say what came of each; ``refusals`` are told, not raised."""
    for row in queryset:
        try:
            act(row)
        except refusals as error:
            messages.error(request, f"{row}: {error}")
        else:
            messages.success(request, f"{row}: {done}")


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin):
    list_display = (
        "slug",
        "title",
        "state",
        "environment",
        "gate",
        "votes_per_story",
        "opened_at",
        "closed_at",
    )
    list_filter = ("state", "environment", "protocol_name")
    search_fields = ("slug", "title")
    exclude = ("pseudonym_key",)
    actions: tuple[str, ...] = ("open_selected", "pause_selected", "close_selected")
    actions_detail = ("show_counts", "import_file")

    @admin.action(description=_("Open"))
    def open_selected(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        self._move(request, queryset, actions.open_study, _("is open."))

    @admin.action(description=_("Pause"))
    def pause_selected(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        self._move(request, queryset, actions.pause_study, _("is paused."))

    @admin.action(description=_("Close"))
    def close_selected(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        self._move(request, queryset, actions.close_study, _("is closed."))

    def _move(
        self, request: HttpRequest, queryset: QuerySet[Study], move: Callable[..., Study], done: str | Promise
    ) -> None:
        each(
            request,
            queryset,
            lambda study: move(study=study, by=researcher(request), now=timezone.now()),
            done,
        )

    @action(description=_("Counts"), url_path="counts")
    def show_counts(self, request: HttpRequest, object_id: int) -> HttpResponse:
        return redirect("dashboard:study", slug=get_object_or_404(Study, pk=object_id).slug)

    @action(description=_("Import stories"), url_path="import")
    def import_file(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The page that takes a file; a Celery worker imports it, and its record says what came of it."""
        by = researcher(request)
        study = get_object_or_404(Study, pk=object_id)
        form = ImportForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            job = actions.queue_import(
                study=study,
                file=form.cleaned_data["file"],
                role=Story.Role(form.cleaned_data["role"]),
                dry_run=form.cleaned_data["dry_run"],
                by=by,
                now=timezone.now(),
            )
            messages.info(request, _("A worker imports the file. Reload to see what came of it."))
            return redirect(reverse("admin:annotation_storyimport_change", args=[job.pk]))
        context = self.admin_site.each_context(request) | {
            "title": _("Import stories into %(study)s") % {"study": study},
            "form": form,
            "opts": self.model._meta,
        }
        return TemplateResponse(request, "admin/annotation/import.html", context)


class ImportProblemInline(ReadOnlyInline):
    model = ImportProblem
    fields = ("line", "column", "field", "message", "remedy")


@admin.register(StoryImport)
class StoryImportAdmin(ReadOnlyAdmin):
    list_display = (
        "file_name",
        "study",
        "role",
        "state",
        "rows_read",
        "stories_added",
        "stories_unchanged",
        "findings",
        "problems_found",
        "requested_by",
        "requested_at",
    )
    list_filter = ("state", "role", "study")
    exclude = ("file",)
    inlines = (ImportProblemInline,)


class LintFindingInline(ReadOnlyInline):
    model = LintFinding
    fields = ("code", "field", "message")


@admin.register(Story)
class StoryAdmin(ReadOnlyAdmin):
    list_display = (
        "story_id",
        "study",
        "role",
        "scenario_name",
        "story_generator_model",
        "severity_original",
    )
    list_filter = ("study", "role", "scenario_name", "story_generator_model")
    search_fields = ("story_id", "core_id")
    inlines = (LintFindingInline,)


@admin.register(ConsentText)
class ConsentTextAdmin(ReadOnlyAdmin):
    list_display = ("study", "version", "created_at")


@admin.register(LintFinding)
class LintFindingAdmin(ReadOnlyAdmin):
    list_display = ("story", "code", "field", "message")
    list_filter = ("code", "story__study")


@admin.register(Enrollment)
class EnrollmentAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "study",
        "annotator",
        "state",
        "environment",
        "stories_submitted",
        "state_changed_at",
    )
    list_filter = ("study", "state", "environment")
    actions: tuple[str, ...] = ("suspend_selected", "reinstate_selected")

    @admin.action(description=_("Suspend"))
    def suspend_selected(self, request: HttpRequest, queryset: QuerySet[Enrollment]) -> HttpResponse | None:
        return self._act(request, queryset, actions.suspend, _("Suspend"), _("is suspended."))

    @admin.action(description=_("Reinstate"))
    def reinstate_selected(self, request: HttpRequest, queryset: QuerySet[Enrollment]) -> HttpResponse | None:
        return self._act(request, queryset, actions.reinstate, _("Reinstate"), _("is reinstated."))

    def _act(
        self,
        request: HttpRequest,
        queryset: QuerySet[Enrollment],
        act: Callable[..., Enrollment],
        label: str | Promise,
        done: str | Promise,
    ) -> HttpResponse | None:
        """Ask for the reason first; with one, do it and go back to the list."""
        by = researcher(request)
        form = ReasonForm(request.POST if "reason" in request.POST else None)
        if not form.is_valid():
            context = self.admin_site.each_context(request) | {
                "title": label,
                "label": label,
                "form": form,
                "people": list(queryset),
                "action": request.POST.get("action", ""),
                "opts": self.model._meta,
            }
            return TemplateResponse(request, "admin/annotation/reason.html", context)
        reason = form.cleaned_data["reason"]
        each(
            request,
            queryset,
            lambda person: act(enrollment=person, by=by, now=timezone.now(), reason=reason),
            done,
        )
        return None


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "story", "enrollment", "slot", "state", "served_at", "lease_expires_at")
    list_filter = ("state", "story__study")
    search_fields = ("story__story_id",)


class AnswerInline(ReadOnlyInline):
    model = Answer
    fields = ("question", "row", "option", "counts_against")


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    list_display = ("id", "assignment", "revision", "submitted_at", "environment", "surplus_reason")
    list_filter = ("surplus_reason", "environment", "assignment__story__study")
    search_fields = ("assignment__story__story_id",)
    inlines = (AnswerInline,)


class CheckOptionInline(ReadOnlyInline):
    model = CheckOption
    fields = ("question", "row", "option")


@admin.register(CheckKey)
class CheckKeyAdmin(ReadOnlyAdmin):
    list_display = ("id", "story", "version", "state", "created_by", "created_at")
    list_filter = ("state", "story__study")
    search_fields = ("story__story_id",)
    inlines = (CheckOptionInline,)


@admin.register(CheckResult)
class CheckResultAdmin(ReadOnlyAdmin):
    list_display = ("vote", "key", "passed")
    list_filter = ("passed", "key__story__study")
    search_fields = ("key__story__story_id",)


@admin.register(WorkSession)
class WorkSessionAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "enrollment",
        "state",
        "story_limit",
        "stories_submitted",
        "opened_at",
        "expires_at",
    )
    list_filter = ("state", "counts_at_once", "framed", "enrollment__study")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = ("id", "owner", "name", "study", "made_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = ("study",)
    exclude = ("digest",)


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("at", "study", "type", "actor", "enrollment", "subject", "note")
    list_filter = ("type", "study")
