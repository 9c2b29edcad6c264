"""The form of a study's join link."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from annotation.models import Study
from dashboard.settings.forms import RowForm
from recruitment.join_links import filled_in, own_source, screen_out_address
from recruitment.join_platforms import JoinPlatform
from recruitment.links import join_address
from recruitment.models import JoinLink

WAYS = ("return_url", "screen_out_url", "leave_url")
EXAMPLE_CODE, EXAMPLE_ID = "KXM4Q-9TQPA", "participant-1"


class JoinLinkForm(RowForm):
    """Settings of the join link: how participants arrive, where they go at the end, and the deadline."""

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
            ("screened_out", screen_out_address(link), EXAMPLE_CODE),
            ("left", link.leave_url, ""),
        )
    }
