"""Instructions for answering questions, with a worked example per kind of question.

The stories in the examples are invented for this page and occur in no dataset.
"""

from annotation.protocols.base import Instructions, Section, _
from annotation.protocols.validity.wording import example

MOTIVATION = Section(
    title=_("Why this work matters"),
    paragraphs=(
        _(
            "The questions here test whether computer programs understand who knows what in a story, "
            "and what follows from it. To judge a program, we have to know how people answer the "
            "same questions. That is what you show us."
        ),
        _(
            "Several people answer each question, each on their own. We don’t tell you whether an "
            "answer was right, because that would change your later answers."
        ),
        _(
            "The answers are published together with the questions. Yours appear under a code made for "
            "this study, never under your name."
        ),
    ),
)

ITEM = Section(
    title=_("What you see"),
    paragraphs=(
        _("A story of two sentences, a question about it, and two or more answers. You choose one."),
        _(
            "The same story can come with different questions: what somebody is aware of, what they "
            "will do next, or how to describe what they did. They come in no particular order."
        ),
    ),
)

ADVICE = Section(
    title=_("How to answer"),
    paragraphs=(
        _(
            "Go by what is likely. Hardly anything in a story is certain: choose the answer you "
            "would expect for most people in this situation."
        ),
        _(
            "Go by the story alone. It is true as it stands, and what it doesn’t mention is as "
            "usual. Don’t add reasons of your own, and don’t look anything up."
        ),
        _(
            "You know everything the story tells; the people in it may not. They know what they can see, "
            "hear, read or be told there, and what everybody knows."
        ),
        _(
            "Answer each question on its own. You don’t need to remember your earlier answers, and "
            "your answers don’t have to fit together."
        ),
        _("There are no trick questions. If both answers seem possible, choose the one that comes closer."),
    ),
)


EXAMPLES = (
    example(
        "answer",
        "b",
        story=_(
            "The green thermos on the site manager's desk holds paint thinner. "
            "A new colleague comes in from the cold and reaches for the thermos."
        ),
        question=_("Is the new colleague likely to be aware that the thermos holds paint thinner?"),
        choices=_("Yes · No"),
        answer=_("No"),
        justification=_(
            "A thermos usually holds a drink, and nothing in the story shows or tells the new "
            "colleague what is in this one. You know only because you have read the first sentence."
        ),
    ),
    example(
        "answer",
        "a",
        story=_(
            "The bridge on the forest path has been closed since the storm. "
            "Farah stands at the car park and looks at an old map of the path."
        ),
        question=_("What will Farah likely do next?"),
        choices=_("set out on the path · drive to another walk"),
        answer=_("set out on the path"),
        justification=_(
            "An old map does not show that the bridge is closed, so Farah follows the map. Driving "
            "elsewhere would make sense only for somebody who had heard that the bridge is closed."
        ),
    ),
    example(
        "answer",
        "a",
        story=_(
            "The caretaker's spare key opens the wrong flat, because two hooks were mixed up. "
            "The caretaker takes the key from its usual hook and lends it to the plumber."
        ),
        question=_(
            "Next, the plumber opens the wrong flat and starts to look for the leak. "
            "What the plumber did can be best described as:"
        ),
        choices=_("Reasonable · Not reasonable"),
        answer=_("Reasonable"),
        justification=_(
            "The plumber was handed the key by the caretaker and had no way to know of the mix-up. What "
            "somebody does is reasonable when it fits what they could know, even if it turns out badly."
        ),
    ),
)

INSTRUCTIONS = Instructions(sections=(MOTIVATION, ITEM, ADVICE), examples=EXAMPLES)
