"""Instructions for matching the beliefs of two tables, with a story invented for this page."""

from annotation.protocols.base import Instructions, Section, WorkedExample, _
from annotation.protocols.validity.wording import example

STORY = _("Ruth hides the present for Felix in the wardrobe. Felix watches her through the door.")
OTHERS = _("Felix: The present lies in the wardrobe. · Ruth: Felix has not seen me.")


def _example(count: str, row: str, why: str) -> WorkedExample:
    return example("count", count, story=STORY, row=row, table_b=OTHERS, justification=why)


INSTRUCTIONS = Instructions(
    sections=(
        Section(
            _("Why we ask"),
            (
                _("Programs list what people in a story believe. We compare their lists with others."),
                _("You are not told which table a program wrote: it would change how you look at it."),
            ),
        ),
        Section(
            _("What you see"),
            (
                _("A story, and two tables of what people in it believe. “World” stands for facts."),
                _("Below them, every row of both tables again, each with the numbers 0 to 3."),
            ),
        ),
        Section(
            _("How to answer"),
            (
                _("For each row, look for rows of the other table about the same person."),
                _("Count those that say the same, whatever their words."),
                _("Choose 0 if there is none, and 2 or 3 only for a row that says several things at once."),
                _("A row of one table may match a row of the other that matches more than one."),
            ),
        ),
    ),
    examples=(
        _example(
            "0", _("Felix: The wardrobe is locked."), _("No row of the other table says anything of a lock.")
        ),
        _example(
            "0", _("Ruth: The present lies in the wardrobe."), _("The row that says so is about Felix.")
        ),
        _example("1", _("Felix: My present is in the wardrobe."), _("The same in other words.")),
    ),
)
