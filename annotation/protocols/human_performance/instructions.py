"""Instructions for questions about beliefs and actions, with stories invented for this page."""

from annotation.protocols.base import Instructions, Section, _
from annotation.protocols.multiple_choice.instructions import ADVICE, MOTIVATION
from annotation.protocols.validity.wording import example

ITEM = Section(
    _("What you see"),
    (
        _("A short story in which something changes, a question about a person in it, and two answers."),
        _("The same story can come back with another ending or another question."),
        _(
            "Some stories say whether the person notices the change. Others say what the person does next: "
            "work out from it what they must think."
        ),
    ),
)
STORY = _(
    "Ayla fills the kettle at the camp site and goes to fetch tea bags from the car. Ayla believes the "
    "kettle is full. While she is gone, a neighbour pours the water over a fire that is getting too big. "
    "Ayla has her head in the boot and sees nothing of it."
)
EXAMPLES = (
    example(
        "answer",
        "a",
        story=STORY,
        question=_("Does Ayla believe the kettle is full or empty?"),
        choices=_("Ayla believes the kettle is full. · Ayla believes the kettle is empty."),
        answer=_("Ayla believes the kettle is full."),
        justification=_("You know that it is empty. She saw nothing, so she has no reason to think so."),
    ),
    example(
        "answer",
        "a",
        story=STORY,
        question=_("What will Ayla do?"),
        choices=_("Ayla will light the stove under the kettle. · Ayla will go to the tap first."),
        answer=_("Ayla will light the stove under the kettle."),
        justification=_("She did not notice anything and still thinks there is water in the kettle."),
    ),
    example(
        "answer",
        "a",
        story=_(
            "Ayla fills the kettle at the camp site and goes to fetch tea bags from the car. Ayla believes "
            "the kettle is full. While she is gone, a neighbour pours the water over a fire that is getting "
            "too big. Ayla takes the kettle to the tap."
        ),
        question=_("Does Ayla believe the kettle is full or empty?"),
        choices=_("Ayla believes the kettle is empty. · Ayla believes the kettle is full."),
        answer=_("Ayla believes the kettle is empty."),
        justification=_("Nobody takes a full kettle to the tap, so she must have noticed what happened."),
    ),
)
INSTRUCTIONS = Instructions((MOTIVATION, ITEM, ADVICE), EXAMPLES)
