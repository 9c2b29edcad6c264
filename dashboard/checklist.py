"""What a study needs before it opens, and where each thing is mended. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.actions.studies import lacks_checks
from annotation.models import Story, Study
from dashboard.checks import too_few_checks

UNREAD = ("@localhost", "@example.org", "@example.com")
"""Places that nobody has: what is written there reaches nobody."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the checklist: whether it is done, what it is, and where it is mended."""

    done: bool
    text: str
    url: str
    link: str
    blocks: bool = True

    @property
    def is_missing(self) -> bool:
        """Whether the study cannot open without it."""
        return self.blocks and not self.done


def checklist(study: Study) -> list[Step]:
    """What has to be, or should be, done before the study opens; constant in the number of stories."""
    own = reverse("dashboard:set_up", args=[study.slug])
    has_stories = Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].exists()
    return [
        Step(
            study.consent_version > 0,
            _("A consent text that people can agree to"),
            f"{own}#consent",
            _("Write it"),
        ),
        Step(
            study.gate != Study.Gate.MISSING,
            _test_in_words(study),
            f"{own}#test",
            _("Choose or add the test"),
        ),
        Step(
            has_stories,
            _("Stories that people can judge"),
            reverse("dashboard:import_stories", args=[study.slug]),
            _("Import stories"),
        ),
        *_checks(study),
        Step(
            not study.contact.endswith(UNREAD),
            _contact_in_words(study),
            f"{own}#id_contact",
            _("Change the contact"),
            blocks=False,
        ),
    ]


def _test_in_words(study: Study) -> str:
    if study.gate == Study.Gate.NOT_REQUIRED:
        return _("No test is asked for")
    if study.gate == Study.Gate.MISSING:
        return _("A test with an answer key, or the decision that none is asked for")
    return _("There is a test with an answer key")


def _checks(study: Study) -> list[Step]:
    """Where hidden checks are asked for, whether there are any."""
    if not study.check_every:
        return []
    text = _("Hidden checks with known answers, one in each %(every)s stories") % {"every": study.check_every}
    few = too_few_checks(study)
    text += f". {few}" if few else ""
    own = reverse("dashboard:checks", args=[study.slug])
    return [Step(not lacks_checks(study), text, own, _("Give them known answers"))]


def _contact_in_words(study: Study) -> str:
    if study.contact.endswith(UNREAD):
        return _("A contact at which somebody reads what people write: nobody reads %(contact)s") % {
            "contact": study.contact
        }
    return _("People can write to %(contact)s") % {"contact": study.contact}
