"""Instructions for judging stories, with one worked example per answer.

The stories in the examples are invented for this page and occur in no dataset. Between them they
cover the ten scenarios, one each, and every example shows exactly what its question shows.
"""

from annotation.protocols.base import Instructions, Section, _
from annotation.protocols.validity.wording import example

MOTIVATION = Section(
    title=_("Why this work matters"),
    paragraphs=(
        _(
            "Researchers want to know whether language programs can keep track of who knows what. These "
            "stories were written for such a test, many of them by programs, and some are flawed. It takes "
            "a careful reader to find them."
        ),
        _(
            "Several people judge each story, each on their own, and a story is kept only if nobody answers "
            "No. There is no quota: finding a flawed story is worth as much as finding a good one. Your "
            "answers are published under a code made for this study, never under your name."
        ),
    ),
)

ITEM = Section(
    title=_("What you see"),
    paragraphs=(
        _(
            "A story is two sentences long. The key information is the first sentence: a fact that the main "
            "character, a person or a group, is not meant to know. The second sentence says what happens "
            "next and should give nothing away."
        ),
        _(
            "A question asks what the main character will likely do. Action A should be likely when they "
            "are not aware of the key information, Action B when they are somehow aware of it. Each action "
            "should suit one case and not the other."
        ),
    ),
)

ADVICE = Section(
    title=_("How to answer"),
    paragraphs=(
        _(
            "Judge each question on its own: a story can fail one and pass the other three. In "
            "questions 3 and 4, leave aside whether the main character could have noticed anything."
        ),
        _(
            "You have read the key information, but the main character may not have learned it. Put "
            "yourself in their place, with what they can see, hear and be told in the story."
        ),
        _(
            "If you are unsure, imagine a hundred ordinary people in the main character's place, and go by "
            "what most of them would expect, notice or do. Choose Possibly when sensible people could "
            "disagree. You don’t need to look anything up."
        ),
        _(
            "There are no trick questions. A story may be strange, unpleasant or clumsily written and still "
            "be good for the test."
        ),
    ),
)


# The order is the order on the page: by question, then by option. Each example is the clear case of
# its answer; where an answer is easily confused with another one, the justification says how.
EXAMPLES = (
    example(
        "q1",
        "yes",
        person=_("Nadia, a hotel guest"),
        key_information=_("The hotel turns used pillowcases inside out and puts them back on the beds."),
        justification=_(
            "Guests take fresh pillowcases for granted. Turning used ones inside out is not accepted "
            "practice, so the key information is out of the ordinary."
        ),
    ),
    example(
        "q1",
        "possibly",
        person=_("Owen, who wants to buy a used car"),
        key_information=_("One door of the used car that Petra sells has been repainted."),
        justification=_(
            "Small repairs are common on used cars, so this would not amaze anybody. Still, a buyer does "
            "not expect one on every used car. Sensible people could disagree, so the answer is Possibly."
        ),
    ),
    example(
        "q1",
        "no",
        person=_("Femi's sister"),
        key_information=_("Femi's locked phone has some photos from his last holiday on it."),
        justification=_(
            "Holiday photos on a phone are a regular occurrence. Femi's sister cannot see them on a locked "
            "phone, but noticing is for question 2. This question asks only whether something is usual."
        ),
    ),
    example(
        "q2",
        "yes",
        story=_(
            "The “mountain spring water” at the market stall comes from the tap in the owner's kitchen. "
            "Rosa takes a sealed bottle from the stall and reads its label."
        ),
        justification=_(
            "Tap water in a sealed bottle looks like spring water, and the label says spring water. "
            "Nothing that Rosa sees, reads or is told gives the truth away."
        ),
    ),
    example(
        "q2",
        "possibly",
        story=_(
            "One of the eggs in the carton has a thin crack on its underside. "
            "Hana opens the carton at the shelf, closes it again and puts it in her basket."
        ),
        justification=_(
            "Some shoppers would turn each egg over. Many others would only make sure that the carton is "
            "full and miss a crack on the underside. Both are normal, so the answer is Possibly."
        ),
    ),
    example(
        "q2",
        "no",
        story=_(
            "Marek has a new tattoo of a spider on his forearm. "
            "Marek's aunt washes the dishes with him, and both have their sleeves rolled up."
        ),
        justification=_(
            "A sleeve often hides a forearm, but here the sleeves are rolled up and his aunt stands "
            "beside him. What counts is this story, not how well such a thing is hidden in general."
        ),
    ),
    example(
        "q3",
        "yes",
        story=_(
            "Jun has filled an empty ice cream tub with fish soup and put it in the freezer. "
            "After dinner, Jun's flatmate comes to the freezer with a bowl and a spoon."
        ),
        question=_("What will Jun's flatmate likely do next?"),
        action_a=_("take the tub out for dessert"),
        action_b=_("ask Jun whether there is any real ice cream"),
        justification=_(
            "A flatmate who is not aware of the soup sees an ice cream tub and takes it out. One who is "
            "aware would not choose fish soup for dessert. So Action A is likely only when not aware."
        ),
    ),
    example(
        "q3",
        "no",
        story=_(
            "The eye chart at the clinic is a cheap copy with slightly pale letters. "
            "The nurse points at the chart and asks Ines to begin at the top."
        ),
        question=_("What will Ines likely do next?"),
        action_a=_("read out the letters"),
        action_b=_("ask whether the clinic has a better chart"),
        justification=_(
            "Ines would read out the letters without knowing about the cheap copy. But most people who "
            "knew about it would read them out too. Action A is likely either way, so the answer is No."
        ),
    ),
    example(
        "q4",
        "yes",
        story=_(
            "During the night, the caretaker took all the money out of the library's donation box. "
            "In the morning, Mr Osei, the librarian, makes tea for himself and the caretaker."
        ),
        question=_("What will Mr Osei likely do next?"),
        action_a=_("chat with the caretaker over tea"),
        action_b=_("tell the caretaker to give the money back"),
        justification=_(
            "If Mr Osei is not aware of the theft, he has no reason to mention the money. If he is "
            "aware, Action B is natural. The story gives him no way to find out, but here we simply "
            "suppose that he has."
        ),
    ),
    example(
        "q4",
        "no",
        story=_(
            "Priya is carrying a live tarantula in a box inside her backpack. "
            "On a full bus, Priya sits down next to Mr Bell and puts the backpack on his foot."
        ),
        question=_("What will Mr Bell likely do next?"),
        action_a=_("give Priya a friendly smile"),
        action_b=_("ask Priya to move the backpack"),
        justification=_(
            "Mr Bell would ask this if he were aware of the tarantula. But most people would ask the same "
            "about any backpack on their foot. Action B is likely either way, so the answer is No."
        ),
    ),
)

INSTRUCTIONS = Instructions(sections=(MOTIVATION, ITEM, ADVICE), examples=EXAMPLES)
