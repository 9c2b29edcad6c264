"""From the personal link to the last story, on phones and desktops, in every way to operate a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from annotation.models import Enrollment, Study
from tests import builders
from tests.browser import journeys
from tests.browser.checks import assert_good
from tests.browser.conftest import OpenWindow, path_of
from tests.browser.windows import DESKTOP

pytestmark = pytest.mark.browser

WAYS: dict[str, tuple[journeys.Hands, dict[str, Any]]] = {
    "digits": (journeys.Digits(), {"viewport": DESKTOP}),
    "arrows": (journeys.Arrows(), {"viewport": DESKTOP}),
    "touch in the dark": (journeys.Touch(), {"has_touch": True, "is_mobile": True, "color_scheme": "dark"}),
    "mouse without scripts": (journeys.Mouse(), {"java_script_enabled": False}),
    "arrows without scripts": (journeys.Arrows(), {"java_script_enabled": False}),
}
LONG = WAYS.keys() - {"digits"}
"""Ways for ``make torture``. One story is answered by arrows in ``test_submitting``, by touch in
``test_adapting`` and without scripts in both; ``annotation.test_views`` walks the whole way without."""
SEEN_ELSEWHERE = {"First, 1 test story", "Test story 1 of 1", "Story 1"}
"""Pages of the way that ``test_pages`` judges, or that differ from a later one in their texts alone."""


def everything_is_stored(study: Study, forms: Sequence[journeys.Form]) -> None:
    person = Enrollment.objects.get(study=study)
    assert person.state == Enrollment.State.QUALIFIED
    assert person.stories_submitted == len(forms)
    assert journeys.stored_forms(person) == list(forms)


@pytest.mark.parametrize(
    ("hands", "options"),
    [pytest.param(*way, id=name, marks=[pytest.mark.torture] * (name in LONG)) for name, way in WAYS.items()],
)
def test_a_short_way(open_window: OpenWindow, hands: journeys.Hands, options: dict[str, Any]) -> None:
    """Every page of the way, with one test story and one story: further ones are answered alike."""
    study = builders.make_study("short", stories=2, qualification=1, description="A few short stories.")
    link = path_of(builders.invite(study)[0])
    window = open_window(**options)
    forms = journeys.FORMS[:1]
    for page in journeys.walk(window, link, hands, [builders.ALL_YES], forms):
        assert window.context.cookies() == []
        if type(hands) is journeys.Digits and page not in SEEN_ELSEWHERE:
            assert_good(window)
    everything_is_stored(study, forms)
    assert window.complaints == []
    assert window.foreign_requests() == []


@pytest.mark.torture
def test_the_sample_study_by_mouse(open_window: OpenWindow, sample: Study, link: str) -> None:
    window = open_window()
    for _ in journeys.walk(window, link, journeys.Mouse(), journeys.passing_forms()):
        assert window.context.cookies() == []
    everything_is_stored(sample, journeys.FORMS)
    assert window.complaints == []
    assert window.foreign_requests() == []
