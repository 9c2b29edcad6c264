"""A model as one more annotator: its agreement with the crowd, with one person left out at a time. Pure.

Each person's answer is compared with those of the others on the story; so is the model's, once per person
left out, so that both are compared with equally many. See Calderon, Reichart and Dror (2025), "The
Alternative Annotator Test for LLM-as-a-Judge", of which ``at_least_as_close`` is the advantage probability,
over all votes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from publishing.evaluation.reading import Form
from publishing.evaluation.scores import Scorer
from publishing.facts import AskedQuestion

WHOLE = "the story as a whole"
CrowdVotes = Sequence[tuple[str, str, Sequence[Form]]]
"""Id, core and votes of each story."""


def agreement(asked: Sequence[AskedQuestion], crowd: CrowdVotes, model: Mapping[str, Form]) -> dict[str, Any]:
    """Compare a model's votes with people's, per question and for whole votes.

    ``annotators`` and ``model`` are shares of pairs of answers that agree. Stories with one vote have no
    pairs and are left out.
    """
    against = {(question.key, option) for question in asked for option in question.against}
    several = [story for story in crowd if len(story[2]) > 1]
    scorer = Scorer([core for _, core, _ in several])

    def answers(form: Form, key: str) -> str:
        return form[key] if key != WHOLE else "invalid" if against & set(form.items()) else "valid"

    found = {}
    for key in (*(question.key for question in asked), WHOLE):
        compared = [
            _compared([answers(form, key) for form in forms], answers(model[story_id], key))
            for story_id, _, forms in several
        ]
        people, alike, as_close = np.array(compared).reshape(-1, 3).T
        every = np.ones(len(several))
        found[key] = {
            "annotators": scorer.share(people, every, "share"),
            "model": scorer.share(alike, every, "share"),
            "at_least_as_close": scorer.share(as_close, every, "share"),
            **(scorer.difference(alike, people) if several else {"difference": None, "interval": None}),
        }
    return found


def _compared(people: Sequence[str], model: str) -> tuple[float, float, float]:
    """Return means over the people left out: their agreement with the others, the model's, how often it is
    at least as large.
    """
    others = len(people) - 1
    alike = people.count(model)
    theirs = [(people.count(answer) - 1) / others for answer in people]
    models = [(alike - (answer == model)) / others for answer in people]
    close = sum(own >= their for own, their in zip(models, theirs, strict=True))
    return sum(theirs) / len(people), sum(models) / len(people), close / len(people)
