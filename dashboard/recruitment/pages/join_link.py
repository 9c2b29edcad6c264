"""The join link, amounts due to those who came by it, and looking up completion codes."""

from typing import Any, ClassVar
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from annotation.models import Study
from annotation.refusals import texts_of
from annotation.rights import Right, by_and_now, form_page, signed_in, write_page
from dashboard.http import ErrorsInForm, csv_stream, form_token, render_form
from dashboard.recruitment.amounts_due import (
    CameBy,
    amount_paid_in_form,
    amounts_due,
    amounts_due_to,
    amounts_paid_in_table,
    columns_of,
)
from dashboard.recruitment.forms import (
    CameByForm,
    CodeForm,
    OnePaymentForm,
    PlatformIdsForm,
    TableOfPaymentsForm,
)
from dashboard.recruitment.queries import places
from dashboard.settings.forms import RowForm
from recruitment import actions
from recruitment.errors import CannotPay
from recruitment.join_links import PLATFORMS, filled_in, own_source, screen_out_address
from recruitment.links import join_address
from recruitment.models import JoinLink, LinkPayment
from recruitment.queries import came_by, check_code
from tomannot import clock

WAYS = ("return_url", "screen_out_url", "leave_url")
EXAMPLE_CODE, EXAMPLE_CODE_FOR_LESS, EXAMPLE_ID = "KXM4Q-9TQPA", "W7RHC-3JPEM", "participant-1"


class JoinLinkForm(RowForm):
    """Settings of the join link: how participants arrive, where they go at the end, and the deadline."""

    class Meta:
        model = JoinLink
        fields = (
            "parameter", "adds_parameter", "placeholder", "source", "return_url", "screen_out_url",
            "least_stories", "leave_url", "most_people", "closes_at",
        )  # fmt: skip
        widgets: ClassVar = {
            "closes_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        }

    def __init__(self, study: Study, link: JoinLink | None, platform: str, data: Any = None) -> None:
        """Fill in the link's settings, overlaid with what is known of the platform."""
        known = dict(PLATFORMS.get(platform, {}))
        if link:
            known.pop("source", None)  # those who have come are known by it
            if link.source == own_source(study.pk):
                known["source"] = ""
        super().__init__(data, instance=link or JoinLink(), initial=known)
        self.study = study
        for name in WAYS:
            self.fields[name].widget.attrs["inputmode"] = "url"

    def shown(self) -> dict[str, str] | None:
        """Return the resulting addresses for a made-up participant; None while the form is invalid."""
        if self.is_bound and not self.is_valid():
            return None
        return addresses(JoinLink(study=self.study, **(self.cleaned_data if self.is_bound else self.initial)))


def addresses(link: JoinLink) -> dict[str, str]:
    """Return the address for the platform, and a made-up participant's final address (empty: none)."""
    return {"join": join_address(link)} | {
        name: filled_in(address, code=code, participant=EXAMPLE_ID) or ""
        for name, address, code in (
            ("completed", link.return_url, EXAMPLE_CODE),
            ("screened_out", screen_out_address(link), EXAMPLE_CODE_FOR_LESS),
            ("left", link.leave_url, ""),
        )
    }


NEWEST = 10
"""External payments on the page; the log has all of them."""


@form_page(Right.CHANGE)
def amounts_due_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream the amounts due as CSV: for everybody, or for one way of arriving.

    A POST names platform ids and gets their rows alone; in an address the ids would be logged.
    """
    if request.method == "POST":
        participants = request.POST.get("participants", "").replace("\0", " ").split()
        columns = ("participant", *columns_of(study))
        return csv_stream(request, f"{study.slug}-owed", columns, amounts_due_to(study, participants))
    asked = request.GET.get("came_by", "")
    way = CameBy(asked) if asked in CameBy.values else None
    name = f"{study.slug}-owed{f'-{way}' if way else ''}"
    return csv_stream(request, name, columns_of(study), amounts_due(study, way))


@write_page(Right.CHANGE)
def note_amounts_paid(request: HttpRequest, study: Study) -> HttpResponse:
    """Record external payments: of one participant, or of an uploaded table."""
    one = OnePaymentForm(study, request.POST, auto_id="payment-%s") if "who" in request.POST else None
    form = one or TableOfPaymentsForm(request.POST, request.FILES, auto_id="table-%s")
    if form.is_valid():
        with ErrorsInForm(form):
            _note(request, study, **form.cleaned_data)
            return redirect(f"{reverse('dashboard:join_link', args=[study.slug])}#paid")
    return _page(request, study, **{"payment_form" if one else "table_form": form}, errors=form.errors)


def _note(request: HttpRequest, study: Study, *, reason: str, **given: Any) -> None:
    token = form_token(request)
    if token is None:
        raise CannotPay(_("This form is incomplete. Reload the page and try again."))
    amounts, seen = (amounts_paid_in_table if "table" in given else amount_paid_in_form)(study, **given)
    noted: dict[str, Any] = {"amounts": amounts, "seen": seen, "reason": reason, "token": token}
    number = actions.record_link_payments(study=study, **noted, **by_and_now(request))
    message = ngettext(
        "Recorded the payment to %(number)s participant.",
        "Recorded the payments to %(number)s participants.",
        number,
    )
    messages.success(request, message % {"number": number} if number else _("This was recorded before."))


@form_page(post=Right.CHANGE)
def join_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the join link and amounts due. A POST looks up a code; in an address it would be logged."""
    form = CodeForm(request.POST if request.method == "POST" else None)
    given = form.cleaned_data if form.is_valid() else None
    found = check_code(study, given["code"], participant=given["participant"]) if given else None
    return _page(request, study, form=form, found=found, errors=form.errors)


def _page(request: HttpRequest, study: Study, *, errors: Any, **shown: Any) -> HttpResponse:
    link = JoinLink.objects.select_related("study").filter(study=study).first()
    noted = LinkPayment.objects.filter(enrollment__study=study).select_related("enrollment", "noted_by")
    context = {
        "link": link,
        "addresses": addresses(link) if link else None,
        "try_address": join_address(link, "try-1") if link else "",
        "is_own": link is not None and link.source == own_source(study.pk),
        "people": came_by(link).count() if link else 0,
        "is_over": link is not None and link.closes_at is not None and link.closes_at <= clock.now(),
        "votes_left": places(study).left,
        "came_by_form": CameByForm(),
        "ids_form": PlatformIdsForm(),
        "table_form": TableOfPaymentsForm(auto_id="table-%s"),
        "payment_form": OnePaymentForm(study, auto_id="payment-%s"),
        "form": CodeForm(),
        "token": uuid4(),
        "noted": [(entry.enrollment.pseudonym, entry) for entry in noted.order_by("-pk")[:NEWEST]],
    }
    return render_form(request, "dashboard/recruitment/join_link.html", context | shown, errors=errors)


@form_page(Right.CHANGE)
def change_join_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Change the join link. A POST saves it, or with ``look`` only previews its addresses."""
    link = JoinLink.objects.filter(study=study).first()
    platform = request.GET.get("platform", "")
    form = JoinLinkForm(study, link, platform, request.POST if request.method == "POST" else None)
    looks = "look" in request.POST
    if not looks and form.is_valid():
        with ErrorsInForm(form):
            actions.set_join_link(study=study, **by_and_now(request), **form.cleaned_data)
            messages.success(request, _("The join link is saved. Paste the address below into the platform."))
            return redirect("dashboard:join_link", slug=study.slug)
    platforms = {name: texts_of(name, "dashboard/recruitment/join_platforms.txt") for name in PLATFORMS}
    context = {
        "link": link,
        "form": form,
        "platforms": platforms,
        "chosen": platforms.get(platform),
        "addresses": form.shown(),
    }
    return render_form(request, "dashboard/recruitment/change_join_link.html", context)


@write_page(Right.CHANGE)
def close_join_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Close the join link to newcomers; those who have come keep their place and code."""
    if JoinLink.objects.filter(study=study).exists():
        now = clock.now()
        actions.set_join_link(study=study, by=signed_in(request), now=now, closes_at=now)
        messages.success(request, _("The join link is closed. Participants who have joined can go on."))
    return redirect("dashboard:join_link", slug=study.slug)
