"""Platforms whose people come by a join link, and how the id gets into the address.

Sources: Prolific, docs.prolific.com; SONA, its researchers' documentation ("Using the SURVEY CODE Feature",
"External Study Credit Granting"); CloudResearch Connect, its help page "Project Completion" for the way back,
and for the names of the parameters what studies in public repositories read when their people arrive.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class JoinPlatform:
    """A platform's settings to fill in, and a hint on the way back and on what to look up there."""

    label: Promise | str
    settings: Mapping[str, Any]
    hint: Promise


PLATFORMS = {
    "connect": JoinPlatform(
        "CloudResearch Connect",
        {
            "parameter": "participantId",
            "placeholder": "",
            "adds_parameter": True,
            "source": "cloudresearch-connect",
        },
        _(
            "Connect adds participantId to the address by itself. The way back is the “Redirect URL” that "
            "Connect shows at the end of making a project. It says “completed”, so say below how many "
            "stories complete the study, and give another way back, or none, for less. Connect asks for "
            "one code of its own, not for codes per person."
        ),
    ),
    "sona": JoinPlatform(
        "SONA",
        {"parameter": "survey_code", "placeholder": "%SURVEY_CODE%", "adds_parameter": False, "source": ""},
        _(
            "SONA fills its placeholder in, in the “Study URL”. The way back is the client-side “Completion "
            "URL” that the study’s page on SONA shows then, with {participant} in place of XXXX. Who opens "
            "it gets the credit; for the same credit after the test alone, give it there, too."
        ),
    ),
    "list": JoinPlatform(
        _("A mailing list"),
        {"parameter": "participant", "placeholder": "", "adds_parameter": False, "source": ""},
        _(
            "Give everybody on the list an id of ten letters or more that nobody can guess. The placeholder "
            "is the one of your mailer for that id. A way back is not needed."
        ),
    ),
    "prolific": JoinPlatform(
        _("Prolific, without a campaign"),
        {
            "parameter": "PROLIFIC_PID",
            "placeholder": "{{%PROLIFIC_PID%}}",
            "adds_parameter": False,
            "source": "prolific",
        },
        _(
            "Prolific knows only codes that your study there lists. Ways back look like "
            "https://app.prolific.com/submissions/complete?cc=CODE, with one code for who has answered "
            "stories and another for who has only done the test."
        ),
    ),
}
