"""Hidden checks: their rules, their accepted answers, and how many people fail them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from annotation import actions
from annotation.actions import ProposedKey
from annotation.errors import InvalidCheckKeys
from annotation.hidden_checks import FEWEST_BETWEEN, MOST_BETWEEN, CheckRules
from annotation.models import CheckKey, Study
from annotation.numbers import number_in
from annotation.reasons import LONGEST_REASON
from annotation.rights import Right, by_and_now, form_page, granted, signed_in
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.qualification.forms import AcceptableForm, Cell, closed_notice
from dashboard.quality.hidden_checks import ShownCheck, checks_of, consequences_of, too_few_checks
from dashboard.settings.forms import number
from qualification.experts import closed_texts
from tomannot import clock

MOST_ROWS = 25
"""Checks on one page."""
MOST_COLUMNS = 5
"""Questions in columns; with more, they are stacked."""


class CheckRulesForm(forms.Form):
    """The rate of hidden checks, and the failed share that has consequences."""

    every = number(
        gettext_lazy("One check in every so many stories of a participant"),
        (0, MOST_BETWEEN),
        format_lazy(
            gettext_lazy("0: no checks. 20 is usual. At least {least}, so that checks stay hidden."),
            least=FEWEST_BETWEEN,
        ),
    )
    minimum = number(
        gettext_lazy("Answered checks before any consequence"),
        (1, MOST_BETWEEN),
        gettext_lazy("One failed check is no pattern; 3 is usual."),
    )
    warn_percent = number(
        gettext_lazy("Warn when this percentage of checks is failed"),
        (1, 100),
        gettext_lazy(
            "The participant is told once, beside their next story, which questions to reread. "
            "Empty: nobody is warned."
        ),
        required=False,
    )
    suspend_percent = number(
        gettext_lazy("Suspend when this percentage of checks is failed"),
        (1, 100),
        gettext_lazy(
            "The participant gets no more stories and reads why. You can reinstate them. "
            "Empty: nobody is suspended."
        ),
        required=False,
    )


class CheckRow(AcceptableForm):
    """The accepted answers of one hidden check. An unchanged row is not validated."""

    def __init__(self, check: ShownCheck, data: Any = None) -> None:
        self.check, self.parts = check, check.story.parts
        super().__init__(check.story, data, initial=check.accepted, prefix=f"check-{check.story.pk}")
        self.empty_permitted, self.use_required_attribute = True, False
        self.version = check.key.version if check.key else 0
        self.after_name = self.add_prefix("after")
        self.refused = ""

    @property
    def columns(self) -> Iterator[list[Cell]]:
        """Yield the cells of each question."""
        for _number, cells in groupby(self.cells, key=lambda cell: cell.asked.number):
            yield list(cells)


class CheckTable:
    """The hidden checks whose accepted answers can be set, those without any first.

    These are the checks that nobody has answered; of posted data, those that it names. Checks whose texts are
    ``closed`` to the reader are left out.
    """

    def __init__(self, study: Study, *, closed: Collection[str], data: Any = None) -> None:
        if data is None:
            shown = [check for check in checks_of(study) if check.can_be_set]
        else:  # all of these: the action refuses late changes
            asked = [number for text in data.getlist("check") if (number := number_in(text))]
            shown = checks_of(study, pk__in=asked[:MOST_ROWS])
        open_ones = [check for check in shown if check.story.text_hash not in closed]
        open_ones.sort(key=lambda check: check.key is not None)
        self.closed, self.total = len(shown) - len(open_ones), len(open_ones)
        chosen = open_ones[:MOST_ROWS]
        prefetch_related_objects([check.key for check in chosen if check.key], "options")
        self.rows: Sequence[CheckRow] = [CheckRow(check, data) for check in chosen]
        self.in_columns = len(study.protocol.questions) <= MOST_COLUMNS

    def is_valid(self) -> bool:
        """Validate every row, so that all mistakes are shown at once."""
        valid = [row.is_valid() for row in self.rows]
        return all(valid)

    def proposed(self) -> list[ProposedKey]:
        """Return the proposed keys of the changed rows, which are valid."""
        return [
            ProposedKey(row.check.story, row.acceptable(), number_in(row.data.get(row.after_name)))
            for row in self.rows
            if row.has_changed()
        ]

    @property
    def problems(self) -> list[dict[str, str]]:
        """Return every problem with the id of its field."""
        found = []
        for row in self.rows:
            where = row.check.story.story_id
            if row.refused:
                found.append({"id": row.prefix or "", "where": where, "text": row.refused})
            found += [
                {
                    "id": cell.field.auto_id,
                    "where": f"{where}, {cell.field.label}",
                    "text": str(cell.field.errors[0]),
                }
                for cell in row.cells
                if cell.field.errors
            ]
        return found


@form_page(post=Right.CHANGE)
def hidden_checks(request: HttpRequest, study: Study) -> HttpResponse:
    """List the hidden checks and how people fare. A POST changes their rules."""
    sent = request.POST if request.method == "POST" else None
    form = CheckRulesForm(sent, initial=asdict(study.check_rules))
    if form.is_valid():
        with ErrorsInForm(form):
            rules = CheckRules(**form.cleaned_data)
            actions.change_check_rules(study=study, rules=rules, **by_and_now(request))
            messages.success(request, _("Saved. The rules apply from each participant’s next story on."))
            if few := too_few_checks(study):
                messages.warning(request, few)
            return redirect("dashboard:hidden_checks", slug=study.slug)
    shown = checks_of(study)
    may_change = Right.CHANGE in granted(request)
    for field in form.fields.values():
        field.disabled = not may_change
    context = {
        "form": form,
        "checks": shown,
        "usable": sum(check.state == CheckKey.State.IN_USE for check in shown),
        "missing": sum(check.key is None for check in shown),
        **consequences_of(study),
    }
    return render_form(request, "dashboard/quality/hidden_checks.html", context)


@form_page(Right.CHANGE)
def hidden_check(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show one hidden check. A POST sets its accepted answers, excludes it, or uses it again."""
    found = next(iter(checks_of(study, pk=number)), None)
    if found is None:
        raise Http404("This study has no such check.")
    if found.story.text_hash in closed_texts(signed_in(request)):
        messages.info(request, closed_notice())
        return redirect("dashboard:hidden_checks", slug=study.slug)
    key_is_sent = request.method == "POST" and request.POST.get("do") == "key"
    form = AcceptableForm(found.story, request.POST if key_is_sent else None, initial=found.accepted)
    if request.method == "POST" and (not key_is_sent or form.is_valid()):
        return _decide(request, found, form)
    context = {
        "check": found,
        "parts": found.story.parts,
        "form": form,
        "is_final": found.answered > 0,
        "accepted": [
            {"title": cell.title, "options": cell.labels_of(found.accepted.get(cell.field, []))}
            for cell in (found.story.cells if found.key else ())
        ],
        "longest": LONGEST_REASON,
    }
    return render_form(request, "dashboard/quality/hidden_check.html", context)


def _decide(request: HttpRequest, found: ShownCheck, form: AcceptableForm) -> HttpResponse:
    by, now, story = signed_in(request), clock.now(), found.story
    with ErrorsAsMessages(request):
        if request.POST.get("do") == "leave_out":
            reason = request.POST.get("reason", "")
            actions.leave_out_check(story=story, reason=reason, by=by, now=now)
            messages.success(
                request, _("The check is left out. It is no longer used and counts against nobody.")
            )
        elif request.POST.get("do") == "take_in":
            actions.reuse_check(story=story, by=by, now=now)
            messages.success(request, _("The check is in use again."))
        elif request.POST.get("do") == "key":
            actions.set_check_key(story=story, accepted=form.acceptable(), by=by, now=now)
            messages.success(request, _("Saved. The check is in use."))
    return redirect("dashboard:hidden_check", slug=story.study.slug, number=story.pk)


@form_page(Right.CHANGE)
def hidden_check_keys(request: HttpRequest, study: Study) -> HttpResponse:
    """Set the accepted answers of several hidden checks. A POST saves the changed rows, all or none."""
    sent = request.POST if request.method == "POST" else None
    table = CheckTable(study, closed=closed_texts(signed_in(request)), data=sent)
    if sent is not None and table.is_valid():
        try:
            made = actions.set_check_keys(proposed=table.proposed(), **by_and_now(request))
            saved = ngettext(
                "Saved. %(n)s check has these known answers and is in use.",
                "Saved. %(n)s checks have these known answers and are in use.",
                len(made),
            ) % {"n": len(made)}
            messages.success(request, saved if made else _("Nothing was changed."))
            return redirect("dashboard:hidden_checks", slug=study.slug)
        except InvalidCheckKeys as refused:
            for row in table.rows:
                row.refused = refused.problems.get(row.check.story.pk, "")
    context = {"table": table, "problems": table.problems}
    return render_form(request, "dashboard/quality/hidden_check_keys.html", context, errors=sent is not None)
