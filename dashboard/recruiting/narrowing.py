"""What the address of a list narrows it to: payments and differences, by campaign, kind and state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, TextChoices
from django.utils.translation import gettext as _

from annotation.models import Study
from recruitment.models import Difference, Payment

UNDERWAY = "underway"
_UNSETTLED = (Payment.State.REQUESTED, Payment.State.SENDING)


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to narrow by, as a field of a form that is sent by GET."""

    name: str
    label: str
    options: list[tuple[str, str]]
    chosen: str


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a list is narrowed to. What an address says that is not to be chosen narrows nothing."""

    choices: list[Choice]
    rows: Q

    @property
    def query(self) -> str:
        """As the part of an address, without what is not narrowed; may be empty."""
        return urlencode(self.chosen)

    @property
    def chosen(self) -> dict[str, str]:
        """The values that were chosen, by the names of the choices."""
        return {one.name: one.chosen for one in self.choices if one.chosen}

    def further(self, **place: Any) -> str:
        """The same with a place in the list."""
        return urlencode(place | self.chosen)


def payments_narrowed(study: Study, asked: Mapping[str, str]) -> Narrowing:
    """By campaign, kind and state; "underway" stands for everything that is not settled."""
    states = [(UNDERWAY, str(_("on its way"))), *_labels(Payment.State)]
    choices = [
        _campaigns(study, asked),
        _choice("kind", _("What"), _labels(Payment.Kind), asked),
        _choice("state", _("State"), states, asked),
    ]
    campaign, kind, state = (one.chosen for one in choices)
    rows = Q(submission__campaign__number=int(campaign)) if campaign else Q()
    if kind:
        rows &= Q(kind=kind)
    if state:
        rows &= Q(state__in=_UNSETTLED if state == UNDERWAY else [state])
    return Narrowing(choices, rows)


def differences_narrowed(study: Study, asked: Mapping[str, str]) -> Narrowing:
    """By campaign and kind."""
    choices = [_campaigns(study, asked), _choice("kind", _("What"), _labels(Difference.Kind), asked)]
    campaign, kind = (one.chosen for one in choices)
    rows = Q(campaign__number=int(campaign)) if campaign else Q()
    return Narrowing(choices, rows & Q(kind=kind) if kind else rows)


def _campaigns(study: Study, asked: Mapping[str, str]) -> Choice:
    numbers = study.campaigns.order_by("number").values_list("number", flat=True)
    return _choice("campaign", _("Campaign"), [(str(number), str(number)) for number in numbers], asked)


def _labels(choices: type[TextChoices]) -> list[tuple[str, str]]:
    return [(value, str(label)) for value, label in choices.choices]


def _choice(name: str, label: str, options: Iterable[tuple[str, str]], asked: Mapping[str, str]) -> Choice:
    options = list(options)
    said = asked.get(name, "")
    return Choice(name, label, options, said if said in dict(options) else "")
