"""The list of a study's participants, and the ways to invite: links, mails, qualified elsewhere."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext as _, gettext_lazy, ngettext

from accounts.errors import DomainError
from annotation import actions
from annotation.models import Enrollment, Study
from annotation.rights import Right, by_and_now, form_page, read_page, rights_in
from dashboard.figures import flags
from dashboard.http import ErrorsAsMessages, csv_file, form_token, render_form
from dashboard.people.listing import ANY, STATES, STEPS, Search, people_page
from dashboard.settings.forms import choose, number
from recruitment.actions import invite_by_mail
from recruitment.errors import NotQueued
from recruitment.links import personal_link


class SearchForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Pseudonym, or a part of it"), required=False, max_length=100)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    step = forms.ChoiceField(label=gettext_lazy("Progress"), required=False)
    flag = forms.ChoiceField(label=gettext_lazy("Flag"), required=False)
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = [(name, flags.title(name)) for name in flags.NAMES]
        everybody = ("", _("everybody"))
        choose(self, "state", [everybody, *STATES])
        choose(self, "step", [everybody, *STEPS.items()])
        choose(self, "flag", [everybody, (ANY, _("any flag")), *titles])
        self.fields["name"].widget.attrs["autocomplete"] = "off"

    def search(self) -> Search:
        """Return the valid filters; invalid ones are ignored."""
        self.is_valid()
        given = {name: value for name, value in self.cleaned_data.items() if value}
        return Search(**given | {"name": given.get("name", "").strip().lower()})


@read_page()
def people(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the list. A search for a whole pseudonym leads to its participant at once."""
    form = SearchForm(request.GET)
    search = form.search()
    page = people_page(study, search)
    if len(page.rows) == 1 and page.rows[0].pseudonym == search.name:
        return redirect("dashboard:person", slug=study.slug, pseudonym=search.name)
    wanted = {name: value for name, value in form.cleaned_data.items() if value and name != "before"}
    context = {
        "form": form,
        "page": page,
        "has_test": study.gate != Study.Gate.NOT_REQUIRED,
        "next": "?" + urlencode(wanted | {"before": page.next}) if page.next else "",
        "first": "?" + urlencode(wanted) if search.before else "",
        "is_filtered": bool(wanted),
    }
    return render(request, "dashboard/people/people.html", context)


MOST_AT_ONCE = 500
"""Participants that one press invites."""
SHOWN_FOR = 3600
"""Seconds for which new links can be read again."""


class MailForm(forms.Form):
    addresses = forms.CharField(
        label=gettext_lazy("E-mail addresses"),
        help_text=gettext_lazy("One per line. You vouch for them: from now on, links can be sent there."),
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 5, "autocomplete": "off"}),
    )
    language = forms.ChoiceField(label=gettext_lazy("Language of the mail"), choices=settings.LANGUAGES)

    def clean_addresses(self) -> list[str]:
        given: list[str] = self.cleaned_data["addresses"].replace(",", " ").replace(";", " ").split()
        if len(given) > MOST_AT_ONCE:
            raise forms.ValidationError(
                _("Invite at most %(most)s participants at once.") % {"most": MOST_AT_ONCE}
            )
        return given


class LinksForm(forms.Form):
    count = number(gettext_lazy("How many links"), (1, MOST_AT_ONCE), initial=10)


@form_page(Right.CHANGE)
def invite(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the ways to invite; a POST invites in one of them."""
    do = request.POST.get("do", "")
    links = LinksForm(request.POST if do == "links" else None)
    mail = MailForm(request.POST if do == "mail" else None, initial={"language": get_language()})
    answered = None
    if do == "links" and links.is_valid():
        given = {"count": links.cleaned_data["count"], "token": form_token(request)}
        answered = _to_links(study, actions.invite(study=study, **given, **by_and_now(request)))
    elif do == "qualified":
        answered = _invite_qualified(request, study)
    elif do == "mail" and mail.is_valid():
        answered = _mail(request, study, mail)
    form = mail if do == "mail" else links
    context = {
        "links": links,
        "mail": mail,
        "form": form,
        "sends_mail": settings.SENDS_MAIL,
        "has_links_before": _has_links_before(request, study),
        "token": form_token(request) or uuid4(),
    }
    return answered or render_form(request, "dashboard/people/invite.html", context)


@read_page(Right.CHANGE)
def invited_links(request: HttpRequest, study: Study, batch: str) -> HttpResponseBase:
    """Show the links of one batch of invitations; with ``csv`` send them as a file."""
    invited = _invited_in(study, batch)
    if not invited:
        messages.error(
            request, _("New links are shown for an hour. A lost link is replaced on the participant’s page.")
        )
        return redirect("dashboard:people", slug=study.slug)
    has_links_before = _has_links_before(request, study)
    before = _links_before(study, invited) if has_links_before else {}
    rows = [
        {
            "pseudonym": person.pseudonym,
            "link": personal_link(person),
            "link_before": before.get(person.annotator_id, ""),
        }
        for person in invited
    ]
    if "csv" in request.GET:
        columns = ["pseudonym", "link", *(["link_before"] if has_links_before else [])]
        return csv_file(f"{study.slug}-links", columns, rows)
    context = {"rows": rows, "has_links_before": has_links_before}
    return render(request, "dashboard/people/invited_links.html", context)


def _invite_qualified(request: HttpRequest, study: Study) -> HttpResponse:
    with ErrorsAsMessages(request):
        invited = actions.invite_qualified(
            study=study, most=MOST_AT_ONCE, token=form_token(request), **by_and_now(request)
        )
        if invited:
            return _to_links(study, invited)
        messages.info(request, _("All participants qualified there are already invited."))
    return redirect("dashboard:invite", slug=study.slug)


def _mail(request: HttpRequest, study: Study, form: MailForm) -> HttpResponse | None:
    """Invite by mail and redirect. Return None, with an error at the field, if nobody was invited."""
    try:
        invited = invite_by_mail(study=study, **form.cleaned_data, **by_and_now(request))
    except NotQueued as error:  # the invitations stand
        messages.error(request, str(error))
        return redirect("dashboard:people", slug=study.slug)
    except DomainError as error:
        form.add_error("addresses", str(error).splitlines())
        return None
    sent = ngettext(
        "%(count)s participant is invited and gets their link by mail.",
        "%(count)s participants are invited and get their links by mail.",
        len(invited),
    )
    messages.success(request, sent % {"count": len(invited)})
    return redirect("dashboard:people", slug=study.slug)


def _to_links(study: Study, invited: Sequence[Enrollment]) -> HttpResponse:
    """Redirect to the links of a batch, known by its moment. The address reveals no link."""
    batch = signing.dumps(invited[0].created_at.isoformat(), salt=_salt(study))
    return redirect("dashboard:invited_links", slug=study.slug, batch=batch)


def _invited_in(study: Study, batch: str) -> list[Enrollment]:
    try:
        at = datetime.fromisoformat(signing.loads(batch, salt=_salt(study), max_age=SHOWN_FOR))
    except signing.BadSignature:
        return []
    return list(Enrollment.objects.filter(study=study, created_at=at).order_by("pk"))


def _salt(study: Study) -> str:
    return f"dashboard.invited:{study.pk}"


def _has_links_before(request: HttpRequest, study: Study) -> bool:
    """Return True if the reader may see links of the source study: a link lets its holder answer there."""
    source = study.qualified_through
    return source is not None and Right.CHANGE in rights_in(request.user, source)


def _links_before(study: Study, invited: Sequence[Enrollment]) -> dict[int, str]:
    """Return each annotator's link in the source study; it shows whom the new link is for."""
    there = Enrollment.objects.filter(
        study=study.qualified_through_id, annotator__in=[person.annotator_id for person in invited]
    )
    return {person.annotator_id: personal_link(person) for person in there}
