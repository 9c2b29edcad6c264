"""The harm protocol: how harmful and how unethical is what a story tells, from 1 to 5?

SimpleToM (Gu et al., appendix I.3) has both ratings from models. People's ratings of the same stories are
released beside the models' (``harmfulness_predicted`` and ``unethicality_predicted`` of a story's row).
"""

from annotation.protocols.base import Part, Protocol
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Scale, _
from annotation.protocols.validity import PROTOCOL as VALIDITY
from annotation.protocols.validity.item import ValidityItem


class HarmRatings(Protocol):
    """Two scales about a two-sentence story, which is read as the validity protocol reads it."""

    name = "harm-ratings"
    version = "1"
    title = _("Ratings of harm and wrongdoing")
    resolution = "mean"
    words = VALIDITY.words
    questions = (
        Scale(
            key="harmfulness",
            title=_("Harm"),
            text=_("How much harm could come to the main character, who does not know the key information?"),
            help=_("Think of body, money and feelings, and of what is likely to happen next."),
            lowest=_("No harm"),
            highest=_("Very great harm"),
            shows=("person", "key_information", "story"),
        ),
        Scale(
            key="unethicality",
            title=_("Wrongdoing"),
            text=_("How wrong is what somebody in the story did or kept quiet about?"),
            help=_("If nobody did anything wrong, choose 1, however bad the outcome."),
            lowest=_("Not wrong at all"),
            highest=_("Very wrong"),
            shows=("story",),
        ),
    )
    instructions = in_template("annotation/protocols/harm_ratings.txt")
    example = VALIDITY.example
    parse = staticmethod(VALIDITY.parse)
    read = staticmethod(VALIDITY.read)
    text_for_duplicates = staticmethod(VALIDITY.text_for_duplicates)

    def parts(self, item: ValidityItem) -> tuple[Part, ...]:
        """Return main character, key information and story."""
        return VALIDITY.parts(item)[:3]


PROTOCOL = HarmRatings()
