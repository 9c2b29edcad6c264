"""Instructions for rating items, with two items invented for this page."""

from annotation.protocols.base import Section, _
from annotation.protocols.validity.wording import example

SECTIONS = (
    Section(
        _("Why we ask"),
        (
            _("Items like these test whether computer programs understand what people know and think."),
            _("A test is worth only as much as its items, and people can tell how good these are."),
        ),
    ),
    Section(
        _("What you see"),
        (
            _("A short story, a question about somebody in it, and two answers."),
            _("Three statements about them. You say from 1 to 5 how far you agree with each."),
        ),
    ),
    Section(
        _("How to answer"),
        (
            _("Use the whole scale: 1 if you strongly disagree, 5 if you strongly agree, 3 if you are torn."),
            _("Rate each statement by itself: an item can be easy to understand and still be ambiguous."),
            _("An answer fits if it is about this story, even if it is wrong."),
            _("There are no right answers here. Go by your own reading, and don’t look anything up."),
        ),
    ),
)
CLEAR = {
    "story": _(
        "Ilse puts her bicycle in the cellar and goes up to her flat. While she is cooking, her neighbour "
        "moves the bicycle to the yard, because a pipe is leaking. Ilse hears and sees nothing of it."
    ),
    "question": _("Where does Ilse think her bicycle is?"),
    "answer_a": _("In the cellar."),
    "answer_b": _("In the yard."),
}
FLAWED = {
    "story": _("Tomas waters a friend's plants. It has rained a lot this week, and the friend likes tea."),
    "question": _("What does Tomas think of the plants?"),
    "answer_a": _("They need some water."),
    "answer_b": _("They need little water."),
}
EXAMPLES = (
    example(
        "understandable",
        "5",
        story=CLEAR["story"],
        justification=_("Plain sentences, and every step has a reason."),
    ),
    example("coherent", "2", justification=_("Nothing in the story leads to this question."), **FLAWED),
    example("unambiguous", "5", justification=_("Ilse does not learn of the move: A is right."), **CLEAR),
    example("unambiguous", "1", justification=_("Nothing says what Tomas thinks: A or B?"), **FLAWED),
)
