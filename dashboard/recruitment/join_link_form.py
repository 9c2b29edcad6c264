"""The form of a study's join link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms

from annotation.models import Study
from dashboard.settings.forms import RowForm
from recruitment.join_links import (
    HOST,
    InvalidJoinLink,
    JoinSettings,
    check_settings,
    own_source,
    way_back,
    way_of_less,
)
from recruitment.join_platforms import JoinPlatform
from recruitment.links import join_address
from recruitment.models import JoinLink

WAYS = ("return_url", "screen_out_url", "leave_url")
EXAMPLE_CODE, EXAMPLE_ID = "KXM4Q-9TQPA", "participant-1"


class JoinLinkForm(RowForm):
    """Settings of the join link: how participants arrive, where they go at the end, and the deadline.

    Participants may be sent only to the hosts of the addresses entered here.
    """

    class Meta:
        model = JoinLink
        fields = (
            "parameter",
            "adds_parameter",
            "placeholder",
            "source",
            "return_url",
            "screen_out_url",
            "least_stories",
            "leave_url",
            "most_people",
            "closes_at",
        )
        widgets: ClassVar = {
            "closes_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        }

    def __init__(
        self, study: Study, link: JoinLink | None, platform: JoinPlatform | None, data: Any = None
    ) -> None:
        """Fill in the link's settings, overlaid with what is known of the platform."""
        known = dict(platform.settings) if platform else {}
        if link:
            known.pop("source", None)  # those who have come are known by it
            if link.source == own_source(study.pk):
                known["source"] = ""
        super().__init__(data, instance=link or JoinLink(), initial=known)
        self.study = study
        for name in WAYS:
            self.fields[name].widget.attrs["inputmode"] = "url"

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            try:
                check_settings(self.settings(), own=own_source(self.study.pk), cap=self.study.story_cap)
            except InvalidJoinLink as error:
                self.refuse_setting(error)
        return self.cleaned_data

    def refuse_setting(self, error: InvalidJoinLink) -> None:
        """Add the refusal as an error at its field."""
        self.add_error(error.setting if error.setting in self.fields else None, error.text)

    def settings(self) -> JoinSettings:
        """Return the form's settings, with the hosts of its addresses."""
        return _with_hosts(self.cleaned_data)

    def shown(self) -> dict[str, str] | None:
        """Return the resulting addresses for a made-up participant; None while the form is invalid."""
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
    """Return the address for the platform, and a made-up participant's final address (empty: none)."""

    def back(address: str, code: str) -> str:
        return way_back(address, link.return_hosts, code=code, participant=EXAMPLE_ID) or ""

    screened_out = way_of_less(link.return_url, link.screen_out_url)
    return {
        "join": join_address(link),
        "completed": back(link.return_url, EXAMPLE_CODE),
        "screened_out": back(screened_out, EXAMPLE_CODE),
        "left": back(link.leave_url, ""),
    }
