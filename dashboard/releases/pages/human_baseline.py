"""The human baseline: draw a release's questions into a study, and show people's accuracy."""

import secrets
from typing import Any

from django import forms
from django.contrib import messages
from django.core.validators import validate_slug
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from accounts.errors import DomainError
from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, read_page, study_creators_page
from dashboard import actions
from dashboard.http import ErrorsInForm, csv_file, render_form
from dashboard.releases.human_baseline import Admission, BaselinePlan, Viewers, Who, newest_consent
from dashboard.settings.forms import number, one_of, prose
from publishing.human_baseline.drawing import check_not_withdrawn, check_size_for_a_page, has_questions
from publishing.human_baseline.study_results import results
from publishing.models import Release
from publishing.statistics.answered import ALL
from publishing.views import published_release

COLUMNS = (
    "config", "items", "complete", "votes", "right", "accuracy", "low", "high", "chance", "majority_right",
    "ties", "majority_accuracy", "majority_low", "majority_high", "agreement", "agreement_low",
    "agreement_high",
)  # fmt: skip


@form_page(Right.CHANGE)
@study_creators_page
def draw_human_baseline(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Draw a sample of a release's questions into a draft study."""
    release = published_release(study.slug, number)
    if not has_questions(release):
        raise Http404("The release has no question sets.")
    try:
        check_not_withdrawn(release)
    except DomainError as error:
        messages.error(request, str(error))
        return redirect("dashboard:releases", slug=study.slug)
    form = BaselineForm.of(release, request.POST if request.method == "POST" else None)
    if form.is_valid():
        with ErrorsInForm(form):
            check_size_for_a_page(release)
            made, admission = actions.draw_baseline(release=release, plan=form.plan(), **by_and_now(request))
            _report(request, made, admission)
            return redirect("dashboard:overview", slug=made.slug)
    context = {"release": release, "form": form}
    return render_form(request, "dashboard/releases/draw_human_baseline.html", context)


@read_page()
def human_baseline(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the share of right answers so far, by kind of question."""
    found = _results(study)
    context = {"results": found, "lines": _lines(found)}
    return render(request, "dashboard/releases/human_baseline.html", context)


@read_page()
def human_baseline_file(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """Return the human baseline as JSON, or as CSV with a row for each kind of question."""
    found = _results(study)
    if kind == "json":
        response: HttpResponse = JsonResponse(found, json_dumps_params={"indent": 2})
    elif kind == "csv":
        rows = [_row(name, line) for name, line in (*found["configs"].items(), (ALL, found[ALL]))]
        response = csv_file(f"{study.slug}-accuracy", COLUMNS, rows)
    else:
        raise Http404
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-accuracy.{kind}"'
    return response


def _results(study: Study) -> dict[str, Any]:
    if not study.protocol.scored:
        raise Http404("The study has no right answers to compare with.")
    return results(study)


def _report(request: HttpRequest, study: Study, admission: Admission) -> None:
    sample = study.baseline_sample
    messages.success(
        request,
        _("A draft with %(questions)s questions about %(stories)s stories, drawn with seed %(seed)s.")
        % {"questions": sample.questions, "stories": sample.stories, "seed": sample.seed},
    )
    for scenario, have in sorted(sample.short.items()):
        messages.warning(
            request,
            ngettext(
                "“%(scenario)s” has only %(have)s story: it is used.",
                "“%(scenario)s” has only %(have)s stories: all are used.",
                have,
            )
            % {"scenario": scenario, "have": have},
        )
    if study.qualified_through:
        messages.info(
            request,
            _(
                "%(remaining)s participants of “%(source)s” may take part; %(excluded)s are excluded because "
                "they were shown these stories. manage.py invite %(study)s --qualified prints their links."
            )
            % {
                "remaining": admission.remaining,
                "source": study.qualified_through.slug,
                "excluded": len(admission.excluded),
                "study": study.slug,
            },
        )


def _lines(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the question sets as on the page, each with its accuracy interval's start and width."""
    titles = {
        "mental-state-qa": _("Mental state"),
        "behavior-qa": _("Behavior"),
        "judgment-qa": _("Judgment"),
    }
    known = [name for name in titles if name in found["configs"]]
    others = [name for name in found["configs"] if name not in titles]
    lines = [(titles.get(name, name), found["configs"][name]) for name in (*known, *others)]
    return [
        {"title": title, "found": line, "interval": interval and (interval[0], interval[1] - interval[0])}
        for title, line in (*lines, (_("All questions"), found[ALL]))
        for interval in [line["interval"]]
    ]


def _row(name: str, line: dict[str, Any]) -> dict[str, Any]:
    majority, agreement = line["majority"], line["agreement"]
    bounds = {
        f"{of}{end}": value
        for of, found in (("", line), ("majority_", majority), ("agreement_", agreement))
        for end, value in zip(("low", "high"), found["interval"] or (None, None), strict=True)
    }
    row = {key: line[key] for key in ("items", "complete", "votes", "right", "accuracy", "chance")}
    row |= {"config": name, "agreement": agreement["percent"], "ties": majority["ties"], **bounds}
    row |= {"majority_right": majority["right"], "majority_accuracy": majority["accuracy"]}
    return {column: row[column] for column in COLUMNS}


MOST_PER_SCENARIO = 1000


WHO = (
    (Who.QUALIFIED, gettext_lazy("Participants qualified in the released study")),
    (Who.ANYONE, gettext_lazy("Everybody who is invited")),
)
"""Only ``manage.py draw_baseline`` can give the study a round of its own, from a file."""


class BaselineForm(forms.Form):
    """The settings of a human baseline, drawn from a release."""

    title = forms.CharField(
        label=gettext_lazy("Title"), max_length=200, help_text=gettext_lazy("Shown at the top of every page.")
    )
    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=60,
        validators=[validate_slug],
        help_text=gettext_lazy("For addresses and commands: letters, digits, - and _."),
    )
    per_scenario = number(gettext_lazy("Stories of each scenario"), (1, MOST_PER_SCENARIO), initial=5)
    votes_per_question = number(gettext_lazy("Answers to each question"), (1, 99), initial=3)
    seed = number(gettext_lazy("Seed"), (0, 2**53), gettext_lazy("The same seed draws the same stories."))
    who = one_of(gettext_lazy("Who may answer"), WHO, initial=Who.QUALIFIED)
    viewers = one_of(
        gettext_lazy("Participants who were shown these stories in the released study"),
        Viewers.choices,
        gettext_lazy("They have read both actions and thought about them."),
        initial=Viewers.AUTO,
    )
    consent = prose(
        gettext_lazy("Consent text"),
        gettext_lazy("This is the released study's text. Adapt it to answering questions."),
        rows=10,
        required=True,
    )

    @classmethod
    def of(cls, release: Release, data: Any = None) -> "BaselineForm":
        """Return the form for a sample of this release, filled with the usual values."""
        study = release.study
        usual = {
            "title": gettext_lazy("%(study)s: questions") % {"study": study.title},
            "slug": f"{study.slug}-{release.number}-baseline"[:60],
            "seed": secrets.randbits(32),
            "consent": newest_consent(study),
        }
        return cls(data, initial=usual)

    def plan(self) -> BaselinePlan:
        given = self.cleaned_data
        chosen = {"who": Who(given["who"]), "viewers": Viewers(given["viewers"])}
        return BaselinePlan(**given | chosen)
