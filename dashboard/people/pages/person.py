"""The pages of one participant: figures, evidence for each flag, answers, and decisions about them."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation import actions, rules
from annotation.actions.exclusions import exclusion_in_force
from annotation.models import Assignment, CheckResult, Enrollment, Story, Study
from annotation.queries import recent_votes
from annotation.rights import Right, by_and_now, form_page, granted, read_page, signed_in, write_page
from dashboard.actions import let_take_test_again
from dashboard.figures import flags, store, tables
from dashboard.http import ErrorsAsMessages, page_number, render_form
from dashboard.people import detail
from dashboard.people.forms import ExcludeForm, ReadmitForm, ReasonForm, RetakeForm, SuspendForm
from dashboard.people.listing import progress_of
from dashboard.qualification.figures import attempts_of
from dashboard.queries import get_enrollment
from dashboard.recruitment.queries import earned_by
from qualification.experts import closed_texts
from recruitment.actions import send_link, set_membership
from recruitment.links import personal_link
from recruitment.queries import confirmed_address_of
from tomannot import clock

State = Enrollment.State


@read_page()
def person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    return _page(request, study, get_enrollment(study, pseudonym))


def _page(
    request: HttpRequest, study: Study, enrollment: Enrollment, form: ReasonForm | None = None
) -> HttpResponse:
    """Show the page; ``form``: the refused one of a decision."""
    pseudonym = enrollment.pseudonym
    found, underway = store.refreshed(study, now=clock.now())
    document = found.document if found else None
    own = store.person(study, pseudonym)
    closed = closed_texts(signed_in(request))
    rights = granted(request)
    may_see_keys = Right.CHANGE in rights
    failed, more_failed = detail.failed_checks(enrollment, closed=closed) if may_see_keys else ([], 0)
    context = {
        "pseudonym": pseudonym,
        "enrollment": enrollment,
        **_standing(enrollment, rights),
        "failed": failed,
        "more_failed": more_failed,
        "attempts": attempts_of(enrollment, closed=closed) if may_see_keys else [],
        "memberships": detail.memberships_of(enrollment),
        "given": progress_of(Enrollment.objects.filter(pk=enrollment.pk)).first(),
        "given_stories": enrollment.assignments.filter(given=True).select_related("story").order_by("pk"),
        "earned": earned_by(enrollment),
        "figures": found,
        "underway": underway,
        "everybody": document["everybody"] if document else None,
        "rules": flags,
        "person": _person(study, document, own, closed) if document and own else None,
        "questions": [str(question.title) for question in study.protocol.questions],
        **_answers(request, enrollment, rights, closed),
    } | ({"reason_form": form} if form else {})
    return render_form(request, "dashboard/people/person.html", context, errors=form.errors if form else ())


def _answers(
    request: HttpRequest, enrollment: Enrollment, rights: frozenset[Right], closed: frozenset[str]
) -> dict[str, Any]:
    may_change = Right.CHANGE in rights
    choices = {to: label for to, label in detail.NARROWED.items() if to != "checks" or may_change}
    page, only = page_number(request), request.GET.get("only", "")
    only = only if only in choices else ""
    shown_answers = detail.narrowed(enrollment, only, may_change=may_change, closed=closed)
    votes, more = recent_votes(enrollment, page=page, only=shown_answers)
    # Only members who may know the accepted answers see who passed a check: a passed answer reveals them.
    checks = CheckResult.objects.filter(vote__in=votes if may_change else ())
    open_ones = checks.exclude(key__story__text_hash__in=list(closed))
    results = dict(open_ones.values_list("vote", "passed"))
    return {
        "answers": detail.answer_rows(enrollment.study, enrollment, votes, results),
        "page": page,
        "only": only,
        "narrowed": choices.items(),
        "more": more,
    }


def _standing(enrollment: Enrollment, rights: frozenset[Right]) -> dict[str, Any]:
    may_change = Right.CHANGE in rights
    return {
        "standing": exclusion_in_force(enrollment),
        "suspension": detail.suspension_of(enrollment),
        "can_be_suspended": State.SUSPENDED in rules.ENROLLMENT_TRANSITIONS[enrollment.state],
        "reason_form": ReasonForm() if enrollment.state == State.SUSPENDED else SuspendForm(),
        "may_renew_link": may_change and detail.may_have_link(enrollment),
        "may_send_link": may_change and settings.SENDS_MAIL and confirmed_address_of(enrollment) is not None,
    }


def _person(
    study: Study, document: dict[str, Any], own: dict[str, Any], closed: frozenset[str]
) -> dict[str, Any]:
    """Return the participant's figures, with each flag's evidence: ids of stories.

    Checks that are closed to the reader are left out: a failed one reveals the accepted answers.
    """
    everybody = document["everybody"]
    row = tables.person_row(study, everybody["median_seconds"], own, everybody=everybody["options"])
    secret = detail.ids_of_checks(study, closed)
    for flag in row["flagged"]:
        flag["stories"] = [story_id for story_id in flag["evidence"] if story_id not in secret]
    return row


@write_page(Right.CHANGE)
def set_standing(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Suspend a participant, who then reads ``shown_reason``, or let them continue."""
    enrollment = get_enrollment(study, pseudonym)
    by, now, do = signed_in(request), clock.now(), request.POST.get("do", "")
    form = (SuspendForm if do == "suspend" else ReasonForm)(request.POST)
    if not form.is_valid():
        return _page(request, study, enrollment, form)
    reason = form.cleaned_data["reason"]
    with ErrorsAsMessages(request):
        if do == "suspend":
            shown = form.cleaned_data["shown_reason"]
            actions.suspend(enrollment=enrollment, reason=shown, note=reason, by=by, now=now)
            messages.success(request, _("Suspended. They get no more stories, and their votes still count."))
        elif do == "let_go_on":
            actions.reinstate(enrollment=enrollment, reason=reason, by=by, now=now)
            messages.success(request, _("They can continue. Failed checks are counted from zero."))
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@write_page(Right.CHANGE)
def persons_link(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Mail a participant their link, or with ``do=renew`` replace it and show the new one this once."""
    enrollment = get_enrollment(study, pseudonym)
    with ErrorsAsMessages(request):
        if request.POST.get("do") != "renew":
            send_link(enrollment=enrollment, by=signed_in(request))
            messages.success(request, _("Their link is on its way to them."))
        elif detail.may_have_link(enrollment):
            enrollment = actions.revoke_link(enrollment=enrollment, **by_and_now(request))
            context = {"pseudonym": pseudonym, "link": personal_link(enrollment)}
            return render(request, "dashboard/people/new_link.html", context)
        else:
            messages.error(
                request, _("Participants from a platform, or whose data is deleted, get no personal link.")
            )
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@write_page(Right.CHANGE)
def set_group(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Put a participant into one of the study's groups on a platform, or take them out."""
    enrollment = get_enrollment(study, pseudonym)
    asked = (request.POST.get("platform", ""), request.POST.get("kind", ""))
    found = next((group for group in detail.memberships_of(enrollment) if group.key == asked), None)
    with ErrorsAsMessages(request):
        if found:
            set_membership(
                campaign=found.campaign,
                annotator=enrollment.annotator,
                kind=found.kind,
                is_member=request.POST.get("way") == "in",
                **by_and_now(request),
            )
            messages.success(request, _("Recorded. The platform will be told in a moment."))
        else:
            messages.error(
                request, _("There is no such group for this participant any more. Nothing was changed.")
            )
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@form_page(Right.CHANGE)
def exclude(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Exclude all votes of a participant, or readmit them; each with a reason."""
    enrollment = get_enrollment(study, pseudonym)
    standing = exclusion_in_force(enrollment)
    do = request.POST.get("do", "readmit" if standing else "exclude")
    sent = request.POST if request.method == "POST" else None
    form = (ReadmitForm if do == "readmit" else ExcludeForm)(sent)
    if form.is_valid():
        with ErrorsAsMessages(request):
            messages.success(request, _exclude_or_readmit(request, enrollment, do, form.cleaned_data))
        return redirect("dashboard:exclude", slug=study.slug, pseudonym=pseudonym)
    votes = Assignment.objects.filter(enrollment=enrollment, story__role=Story.Role.MAIN)
    context = {
        "person": enrollment,
        "pseudonym": pseudonym,
        "form": form,
        "standing": standing,
        "earlier": enrollment.vote_exclusions.of_people().exclude(lifted_at=None).order_by("-pk"),
        "counting": votes.filter(state=Assignment.State.SUBMITTED).count(),
        "excluded": votes.filter(state=Assignment.State.EXCLUDED).count(),
    }
    return render_form(request, "dashboard/people/exclude.html", context)


def _exclude_or_readmit(request: HttpRequest, enrollment: Enrollment, do: str, given: dict[str, str]) -> str:
    if do != "readmit":
        actions.exclude_annotator(enrollment=enrollment, **given, **by_and_now(request))
        return _("Excluded. Their votes are kept, and their slots go to others.")
    done = actions.readmit_annotator(enrollment=enrollment, **given, **by_and_now(request))
    return render_to_string("dashboard/people/readmitted.txt", {"done": done}).strip()


@form_page(post=Right.CHANGE)
def tests(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Show a participant's tests and visits; a POST lets them take the test again."""
    enrollment = get_enrollment(study, pseudonym)
    retaking = detail.retaking_of(enrollment)
    form = RetakeForm(request.POST if request.method == "POST" else None, retaking)
    if form.is_valid():
        with ErrorsAsMessages(request):
            let_take_test_again(
                enrollment=enrollment,
                was_somebody_else=form.cleaned_data["somebody_else"],
                reason=form.cleaned_data["reason"],
                seen=form.cleaned_data["seen"],
                **by_and_now(request),
            )
            messages.success(
                request, _("Done. They can begin as soon as they open the work or their link again.")
            )
        return redirect("dashboard:tests", slug=study.slug, pseudonym=pseudonym)
    context = {"person": enrollment, "pseudonym": pseudonym, "retaking": retaking, "form": form}
    return render_form(request, "dashboard/people/tests.html", context)
