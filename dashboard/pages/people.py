"""The people of a study: the list of everybody, and inviting more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation import actions, rules
from annotation.errors import AnnotationError
from annotation.models import Enrollment, Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.enrolled import ANY, STATES, STEPS, Search, people_page
from dashboard.figures import flags
from dashboard.spreadsheets import csv_file
from recruitment.actions import invite_by_mail
from recruitment.errors import NotQueued, RecruitmentError
from recruitment.links import personal_link

MOST_AT_ONCE = 500
"""People that one press invites."""
SHOWN_FOR = 3600
"""Seconds for which new links can be read again."""
TESTS = {
    "passed": gettext_lazy("passed"),
    "failed": gettext_lazy("not passed"),
    "begun": gettext_lazy("begun"),
}


class SearchForm(forms.Form):
    """Whom to look for."""

    name = forms.CharField(label=gettext_lazy("Pseudonym, or a part of it"), required=False, max_length=100)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    step = forms.ChoiceField(label=gettext_lazy("How far they came"), required=False)
    flag = forms.ChoiceField(label=gettext_lazy("Flag"), required=False)
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [flags.FAILS_CHECKS, flags.TOO_FAST, flags.STRAIGHT_LINING, flags.ALWAYS_ALONE]
        self._choose("state", STATES)
        self._choose("step", list(STEPS.items()))
        self._choose("flag", [(ANY, _("any flag")), *((name, flags.title(name)) for name in names)])
        for name in ("name", "state", "step", "flag"):
            self.fields[name].widget.attrs["class"] = "text"
        self.fields["name"].widget.attrs["autocomplete"] = "off"

    def search(self) -> Search:
        """Who is looked for; what makes no sense is left out."""
        self.is_valid()
        said = {name: value for name, value in self.cleaned_data.items() if value}
        return Search(**said | {"name": said.get("name", "").strip().lower()})

    def _choose(self, name: str, choices: Sequence[tuple[str, str | Promise]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("everybody")), *choices]


class MailForm(forms.Form):
    """Whom to invite by mail."""

    addresses = forms.CharField(
        label=gettext_lazy("E-mail addresses"),
        help_text=gettext_lazy("One on each line. You vouch for them: links can be sent there from now on."),
        max_length=100_000,
        widget=forms.Textarea(attrs={"class": "text", "rows": 5, "autocomplete": "off"}),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the mail"),
        choices=settings.LANGUAGES,
        widget=forms.Select(attrs={"class": "text"}),
    )

    def clean_addresses(self) -> list[str]:
        given: list[str] = self.cleaned_data["addresses"].replace(",", " ").replace(";", " ").split()
        if len(given) > MOST_AT_ONCE:
            raise forms.ValidationError(_("Invite %(most)s people at once at most.") % {"most": MOST_AT_ONCE})
        return given


class LinksForm(forms.Form):
    """How many people to make links for."""

    count = forms.IntegerField(
        label=gettext_lazy("How many links"),
        min_value=1,
        max_value=MOST_AT_ONCE,
        initial=10,
        widget=forms.NumberInput(attrs={"class": "text"}),
    )


@require_safe
@study_page()
def people(request: HttpRequest, study: Study) -> HttpResponse:
    """A page of the list; a whole pseudonym leads to its person at once."""
    form = SearchForm(request.GET)
    search = form.search()
    page = people_page(study, search)
    if len(page.rows) == 1 and page.rows[0].pseudonym == search.name:
        return redirect("dashboard:person", slug=study.slug, pseudonym=search.name)
    wanted = {name: value for name, value in form.cleaned_data.items() if value and name != "before"}
    context = {
        "study": study,
        "form": form,
        "page": page,
        "rows": [
            (row, TESTS.get(row.test, ""), [flags.title(flag) for flag in row.flags]) for row in page.rows
        ],
        "has_test": study.gate != Study.Gate.NOT_REQUIRED,
        "next": "?" + urlencode(wanted | {"before": page.next}) if page.next else "",
        "first": "?" + urlencode(wanted) if search.before else "",
        "is_filtered": bool(wanted),
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/people.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def invite(request: HttpRequest, study: Study) -> HttpResponse:
    """Invite people: with links to pass on, by mail, or those who are qualified elsewhere."""
    do = request.POST.get("do", "")
    links = LinksForm(request.POST if do == "links" else None)
    mail = MailForm(request.POST if do == "mail" else None, initial={"language": get_language()})
    answered = None
    if do == "links" and links.is_valid():
        answered = _invite(request, study, links.cleaned_data["count"])
    elif do == "qualified":
        answered = _invite_qualified(request, study)
    elif do == "mail" and mail.is_valid():
        answered = _mail(request, study, mail)
    form = mail if do == "mail" else links
    context = {
        "study": study,
        "links": links,
        "mail": mail,
        "form": form,
        "sends_mail": settings.SENDS_MAIL,
        "has_links_before": _has_links_before(request, study),
        "token": _token(request) or uuid4(),
    }
    return answered or render(request, "dashboard/invite.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
@study_page(Right.CHANGE)
def invited_links(request: HttpRequest, study: Study, batch: str) -> HttpResponseBase:
    """The links of people who have just been invited together; with ``csv`` as a file."""
    invited = _people_of(study, batch)
    if not invited:
        messages.error(
            request, _("New links are shown for an hour. Whose link is lost gets a new one on their page.")
        )
        return redirect("dashboard:people", slug=study.slug)
    has_links_before = _has_links_before(request, study)
    before = _links_before(study, invited) if has_links_before else {}
    rows = [
        {
            "pseudonym": rules.pseudonym(study.pseudonym_key, person.annotator_id),
            "link": personal_link(person),
            "link_before": before.get(person.annotator_id, ""),
        }
        for person in invited
    ]
    if "csv" in request.GET:
        columns = ["pseudonym", "link", *(["link_before"] if has_links_before else [])]
        return csv_file(f"{study.slug}-links", columns, rows)
    context = {"study": study, "rows": rows, "has_links_before": has_links_before}
    return render(request, "dashboard/invited_links.html", context)


def _invite(request: HttpRequest, study: Study, count: int) -> HttpResponse:
    by, now = signed_in(request), timezone.now()
    invited = actions.invite(study=study, count=count, by=by, now=now, token=_token(request))
    return _to_links(study, invited[0].created_at)


def _invite_qualified(request: HttpRequest, study: Study) -> HttpResponse:
    by, now, token = signed_in(request), timezone.now(), _token(request)
    try:
        invited = actions.invite_qualified(study=study, by=by, now=now, most=MOST_AT_ONCE, token=token)
        if invited:
            return _to_links(study, invited[0].created_at)
        messages.info(request, _("Everybody who is qualified there is invited already."))
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:invite", slug=study.slug)


def _mail(request: HttpRequest, study: Study, form: MailForm) -> HttpResponse | None:
    """None when nobody was invited; what was wrong stands at the field."""
    addresses, language = form.cleaned_data["addresses"], form.cleaned_data["language"]
    by, now = signed_in(request), timezone.now()
    try:
        invited = invite_by_mail(study=study, addresses=addresses, language=language, by=by, now=now)
    except NotQueued as error:  # they are invited all the same
        messages.error(request, str(error))
        return redirect("dashboard:people", slug=study.slug)
    except RecruitmentError as error:
        form.add_error("addresses", str(error))
        return None
    said = ngettext(
        "%(count)s person is invited, and sent their link.",
        "%(count)s people are invited, and each is sent their link.",
        len(invited),
    )
    messages.success(request, said % {"count": len(invited)})
    return redirect("dashboard:people", slug=study.slug)


def _to_links(study: Study, at: datetime) -> HttpResponse:
    """To the page with the links of those who were invited at this moment. Its address tells no link."""
    batch = signing.dumps(at.isoformat(), salt=_salt(study))
    return redirect("dashboard:invited_links", slug=study.slug, batch=batch)


def _people_of(study: Study, batch: str) -> list[Enrollment]:
    try:
        at = datetime.fromisoformat(signing.loads(batch, salt=_salt(study), max_age=SHOWN_FOR))
    except signing.BadSignature:
        return []
    return list(Enrollment.objects.filter(study=study, created_at=at).order_by("pk"))


def _salt(study: Study) -> str:
    return f"dashboard.invited:{study.pk}"


def _token(request: HttpRequest) -> UUID | None:
    """Of the form that was sent; its second press invites nobody more."""
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError:
        return None


def _has_links_before(request: HttpRequest, study: Study) -> bool:
    """Whether the reader may see the links of the other study: who has one answers there in that name."""
    source = study.qualified_through
    return source is not None and Right.CHANGE in rights_in(request.user, source)


def _links_before(study: Study, invited: Sequence[Enrollment]) -> dict[int, str]:
    """Per annotator, the link in the study that this one asks for: it tells whom to send the new one to."""
    there = Enrollment.objects.filter(
        study=study.qualified_through_id, annotator__in=[person.annotator_id for person in invited]
    )
    return {person.annotator_id: personal_link(person) for person in there}
