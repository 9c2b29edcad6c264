"""The command that suspends a participant."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Enrollment
from tests import builders
from tests.annotation.pages import at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def test_suspending_by_command_tells_the_person_why() -> None:
    (person,) = builders.qualified(builders.make_study())

    call_command("suspend", str(person.pk), reason="Forty answers in a minute. Please write to us.")
    page = at(person, "stories/")
    assert page.heading == "You can’t continue right now"
    assert "Forty answers in a minute. Please write to us." in page.document.text_content()
    call_command("suspend", str(person.pk), reason="We talked.", lift=True)

    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED
    assert Enrollment.objects.get().suspension_reason == ""


@pytest.mark.parametrize("reason", ["  ", "x" * 301])
def test_nobody_is_suspended_without_being_told_why(reason: str) -> None:
    (person,) = builders.qualified(builders.make_study())
    with pytest.raises(CommandError, match="The participant reads it"):
        call_command("suspend", str(person.pk), reason=reason)
    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED
