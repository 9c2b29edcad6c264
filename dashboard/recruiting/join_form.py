"""The form of a study's join link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from dashboard.study_forms import StudyForm
from recruitment.join_platforms import JoinPlatform
from recruitment.joining import (
    HOST,
    MOST_PEOPLE,
    InvalidJoinLink,
    JoinSettings,
    check_settings,
    own_source,
    way_back,
    way_of_screened_out,
)
from recruitment.links import join_address
from recruitment.models import JoinLink

WAYS = ("return_url", "screen_out_url", "leave_url")
EXAMPLE_CODE, EXAMPLE_ID = "KXM4Q-9TQPA", "participant-1"


class JoinLinkForm(StudyForm):
    """How people come by the link, where they go at the end, and until when anybody new is let in.

    The hosts to which people may be sent are those of the addresses that are typed in here.
    """

    parameter = forms.CharField(
        label=_("Name of the parameter"),
        max_length=40,
        help_text=_("Under which the platform gives the participant’s id, like participantId."),
    )
    adds_parameter = forms.BooleanField(
        label=_("The platform adds this parameter to the address by itself"), required=False
    )
    placeholder = forms.CharField(
        label=_("Placeholder"),
        max_length=60,
        required=False,
        help_text=_(
            "What the platform or mailer replaces by the id. Empty: the id is put at the address’s end."
        ),
    )
    source = forms.CharField(
        label=_("Whose ids they are"),
        max_length=60,
        required=False,
        help_text=_(
            "The same id is the same person in every study that names the same here. Empty: ids are this "
            "study’s own. It cannot change once people have come."
        ),
    )
    return_url = forms.CharField(
        label=_("The way back for who has answered stories"),
        max_length=500,
        required=False,
        help_text=_(
            "An address of the platform; {code} and {participant} are filled in. Empty: people only see "
            "their code."
        ),
    )
    screen_out_url = forms.CharField(
        label=_("The way back for who has only done the test"),
        max_length=500,
        required=False,
        help_text=_(
            "Empty: the address above if it has {code}, which is another one then; else only the code."
        ),
    )
    leave_url = forms.CharField(
        label=_("The way back for who has done nothing"),
        max_length=500,
        required=False,
        help_text=_(
            "Such as somebody who does not agree. It must not say “completed”. Empty: people are told to "
            "return their submission."
        ),
    )
    most_people = forms.IntegerField(
        label=_("Most people"),
        min_value=1,
        max_value=MOST_PEOPLE,
        required=False,
        help_text=_("The link closes once so many have come in by it. Empty: any number."),
    )
    closes_at = forms.DateTimeField(
        label=_("Closes at (UTC)"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_(
            "Nobody new comes in from then on; who has a place goes on. Empty: as long as the study is open."
        ),
    )

    def __init__(self, study: Study, data: Any, *, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.study = study
        self.fields["adds_parameter"].widget.attrs.pop("class")
        for name in WAYS:
            self.fields[name].widget.attrs["inputmode"] = "url"

    @classmethod
    def of(
        cls, study: Study, link: JoinLink | None, platform: JoinPlatform | None, data: Any = None
    ) -> JoinLinkForm:
        """The form with how the link stands, and over that what is known of the platform."""
        now_so = link or JoinLink()
        initial = {name: getattr(now_so, name) for name in cls.base_fields}
        if initial["source"] == own_source(study.pk):
            initial["source"] = ""
        known = dict(platform.settings) if platform else {}
        if link:
            known.pop("source", None)  # those who have come are known by it
        return cls(study, data, initial=initial | known)

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                check_settings(self.settings(), own=own_source(self.study.pk))
            except InvalidJoinLink as error:
                self.refuse_setting(error)
        return said

    def refuse_setting(self, error: InvalidJoinLink) -> None:
        """Say what cannot be used, at its field."""
        self.add_error(error.setting if error.setting in self.fields else None, error.text)

    def settings(self) -> JoinSettings:
        """What the form says, with the hosts of its addresses."""
        return _with_hosts(self.cleaned_data)

    def shown(self) -> dict[str, str] | None:
        """The addresses that the form comes to, for a made-up person; None while it cannot be used."""
        if self.is_bound and not self.is_valid():
            return None
        said = self.cleaned_data if self.is_bound else self.initial
        return addresses(JoinLink(study=self.study, **_with_hosts(said)))


def _with_hosts(said: Mapping[str, Any]) -> JoinSettings:
    hosts = {_host_of(said[name]) for name in WAYS}
    settings: Any = dict(said) | {"return_hosts": sorted(host for host in hosts if HOST.fullmatch(host))}
    told: JoinSettings = settings
    return told


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:  # an open bracket, which the rules of the link name
        return ""


def addresses(link: JoinLink) -> dict[str, str]:
    """What to give to the platform, and where a made-up person would go at the end (empty: nowhere)."""

    def back(address: str, code: str) -> str:
        return way_back(address, link.return_hosts, code=code, participant=EXAMPLE_ID) or ""

    screened_out = way_of_screened_out(link.return_url, link.screen_out_url)
    return {
        "join": join_address(link),
        "completed": back(link.return_url, EXAMPLE_CODE),
        "screened_out": back(screened_out, EXAMPLE_CODE),
        "left": back(link.leave_url, ""),
    }
