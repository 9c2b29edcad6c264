"""The meaning of every column of a release, for the card and for ``croissant.json``. Pure."""

from collections.abc import Mapping, Sequence

from publishing.facts import AskedQuestion

MEANINGS: Mapping[str, str] = {
    "story_id": "id of the story",
    "core_id": "id that versions of one story share",
    "scenario_name": "scenario of the story",
    "story_prompt_example": "the example in the prompt that generated the story; null if not stated",
    "entities": "people, objects and actions by their role",
    "severity_original": "how grave ignorance would be, as generated; null if not stated",
    "harmfulness_predicted": "models' ratings of harmfulness",
    "unethicality_predicted": "models' ratings of unethicality",
    "story": "text of the story",
    "key_information": "what the main character is unaware of, the first sentence of the story",
    "story_sentence": "the second sentence of the story",
    "story_generator_model": "the model that wrote the story, or “human”; empty if not stated",
    "questions": "the questions about awareness and about the next action",
    "item": "the item as imported",
    "id": "id of the question",
    "config": "question set of the question",
    "question": "text of the question",
    "choices": "the two answers in the order to show them",
    "answerKey": "letter of the right answer",
    "annotator": "pseudonym, used in this study only",
    "submitted_at": "time of the answer in force",
    "seconds_on_task": "seconds from showing the story to the first answer, breaks included",
    "position": "place among the annotator's stories",
    "order_seed": "seed of the annotator's own order of stories; null: the same for all",
    "option_seed": "seed of the annotator's own order of options; null: the same for all",
    "language": "language of the form",
    "instructions": "version of the study's own instructions, in instrument/; 0: those of the protocol",
    "comment": "the annotator's comment; what looked like an identifier was removed",
    "words": "the annotator's words; what looked like an identifier was removed",
    "skipped_at": "time of the skip",
    "rated": "key of the question that was rated; in a table with its row, as in labels.belief-3",
    "ratings": "number of ratings",
    "mean": "mean of the ratings",
    "mean_low": "lower bound of the 95 % interval of the mean; null if undefined",
    "mean_high": "upper bound of the 95 % interval of the mean; null if undefined",
    "verdict": "the expert's decision: valid or invalid",
    "decided_at": "time of the decision",
    "reason": "reason for the verdict, the skip or the decision",
}
"""Meanings of columns."""


def meaning_of(place: str, asked: Sequence[AskedQuestion]) -> str:
    """Return the meaning of a column, or of a key inside one (``choices/text``)."""
    for question in asked:
        if place.partition(".")[0] == question.key:
            return " ".join(
                f"answer to “{question.title}”{', ' if question.scale else ''}{question.ends}".split()
            )
    column, _slash, key = place.partition("/")
    meaning = MEANINGS.get(column, column)
    return f"{key}, in {meaning}" if key else meaning
