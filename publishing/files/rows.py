"""The rows of a release as plain values, with keys in the published order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from annotation.importing.rows import PROVENANCE, hash_of
from annotation.protocols import base, stated_by
from annotation.protocols.fields import PREDICTOR
from annotation.protocols.questions import Choice
from publishing.files import jsonl
from publishing.files.features import Type
from publishing.files.questions import QUESTION_COLUMNS, QuestionSet, ask_judgment, ask_stored
from publishing.filters import Outcome, StoryFilter

if TYPE_CHECKING:
    import pyarrow as pa

PREDICTED = {"harmfulness_predicted": "harmfulness", "unethicality_predicted": "unethicality"}
"""Columns of models' ratings from 1 to 5, each with the key of the rating."""
Row = dict[str, Any]
Against = frozenset[Choice]
"""The choices of a story's votes that count against it."""
Answers = tuple[tuple[Choice, ...], ...]
"""The answers of every vote on one story."""
CACHE_SIZE = 4096
"""Combinations of answers whose results are cached; most votes and stories repeat a few."""


@dataclass(slots=True)  # a frozen one takes six times as long to make, and there are millions
class ReleasedStory:
    """A story as it was imported. ``content`` is the item as its study's protocol stores it."""

    story_id: str
    core_id: str
    scenario_name: str
    story_prompt_example: str | None
    severity_original: int | None
    story_generator_model: str
    content: Mapping[str, Any]
    harmfulness_predicted: Sequence[Any] = ()
    unethicality_predicted: Sequence[Any] = ()
    stored_hash: str = ""
    """The hash of the content, if it is known."""
    is_old_version: bool = False
    """True if the story was revised, and its new version is another story."""

    @property
    def text_hash(self) -> str:
        """The hash of the content, equal for stories with the same text (``annotation.models.Story``)."""
        return self.stored_hash or hash_of(self.content)


class GivenVote(NamedTuple):
    """The answers of a vote and its author, without its context."""

    annotator: str
    answers: tuple[Choice, ...]


class CountedVote(NamedTuple):
    """A vote that the filter uses. ``seconds_on_task`` runs from serving to submission.

    ``submitted_at`` is written as in a release (:func:`publishing.files.jsonl.timestamp`). ``language`` is
    that of the form, ``instructions`` the version of the study's own (0: those of the protocol). The seeds
    are None where nothing was drawn.
    """

    annotator: str
    answers: tuple[Choice, ...]
    submitted_at: str
    seconds_on_task: float
    position: int = 1
    order_seed: int | None = None
    option_seed: int | None = None
    language: str = "en"
    instructions: int = 0
    comment: str = ""


AnyVotes = Sequence[GivenVote] | Sequence[CountedVote]


@dataclass(frozen=True, slots=True)
class Decision:
    """An expert's standing decision about a story (``valid`` or ``invalid``), or the option of a label."""

    verdict: str
    reason: str
    decided_at: datetime

    def row(self, story_id: str, labelled: str = "") -> Row:
        decided = {"labelled": labelled, "option": self.verdict} if labelled else {"verdict": self.verdict}
        return {
            "story_id": story_id,
            **decided,
            "reason": self.reason,
            "decided_at": jsonl.timestamp(self.decided_at),
        }


DECISION_COLUMNS: dict[str, Type] = dict.fromkeys(("story_id", "verdict", "reason", "decided_at"), "string")
LABEL_DECISION_COLUMNS: dict[str, Type] = dict.fromkeys(
    ("story_id", "labelled", "option", "reason", "decided_at"), "string"
)
Decisions = Mapping[str, Decision]
"""Experts' decisions about a story by form field; that about the whole story by ""."""
NO_DECISIONS: Decisions = {}


@dataclass(slots=True)
class GivenStory:
    """A story, its counted votes, the choices in them that count against it, and experts' decisions."""

    story: ReleasedStory
    votes: AnyVotes
    """Their context may be in the columns of a :class:`Chunk`."""
    against: Against
    decisions: Decisions = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The expert's decision about the whole story, or empty."""
        return self.decisions[""].verdict if "" in self.decisions else ""


@dataclass(slots=True)
class JudgedStory(GivenStory):
    """A story whose votes have their context."""

    votes: Sequence[CountedVote]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some stories, to be read once, and the votes on all of them in columns, in the order of their file."""

    votes: Mapping[str, pa.Array]
    """The columns :data:`VOTED_ON` and :data:`CONTEXT`, with times that are not rounded yet."""
    form: pa.Array
    """The place of each vote's answers in ``forms``."""
    forms: Sequence[tuple[Choice, ...]]
    stories: Iterable[GivenStory]
    size: int
    """The number of stories."""

    def __len__(self) -> int:
        return self.size


def story_data_row(story: ReleasedStory) -> Row:
    """Return the ``story-data`` row of a story, with its questions on awareness and next action."""
    item = story.content
    aware, action = f"{story.story_id}_aware", f"{story.story_id}_action"
    person_x = item["entities"]["Person X"]
    return {
        "story_id": story.story_id,
        "core_id": story.core_id,
        "scenario_name": story.scenario_name,
        "story_prompt_example": story.story_prompt_example,
        "entities": _people_first(item["entities"]),
        "severity_original": story.severity_original,
        **predictions(story),
        "story": item["story"],
        "key_information": item["key_information"],
        "story_sentence": item["story_sentence"],
        "story_generator_model": story.story_generator_model,
        "questions": [
            {
                "question_id": aware,
                "question": f'Is {person_x} likely to be aware that "{item["key_information"]}"?',
                "answer_correct": "No",
                "answer_incorrect": "Yes",
            },
            {
                "question_id": action,
                "question": item["question"],
                "answer_correct": item["action_unaware"],
                "answer_incorrect": item["action_aware"],
            },
        ],
    }


def predictions(story: ReleasedStory) -> Row:
    """Return models' ratings of a story. The database does not keep the order of their keys."""
    harmful, unethical = story.harmfulness_predicted, story.unethicality_predicted
    return {
        name: [{key: one[key] for key in (rated, PREDICTOR)} for one in given] if given else []
        for (name, rated), given in zip(PREDICTED.items(), (harmful, unethical), strict=True)
    }


def _people_first(entities: Mapping[str, str]) -> dict[str, str]:
    """Return the entities in a fixed order, because the database does not keep the order of keys."""
    return {name: entities[name] for name in _names_in_order(tuple(entities))}


@lru_cache(maxsize=CACHE_SIZE)
def _names_in_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names, key=lambda name: (not name.startswith("Person"), name))


def item_row(story: ReleasedStory) -> Row:
    """Return the row of another protocol's story: provenance, and item as imported."""
    provenance = {name: getattr(story, name) for name in PROVENANCE}
    return {**provenance, **predictions(story), "item": dict(story.content)}


STORY_CONFIG = "story-data"
RELEASE_JSON, STATISTICS_JSON = "release.json", "statistics.json"
MACHINE_VALIDATION_JSON = "machine_validation.json"
VOTES_PATH = "annotations/votes.jsonl"
SKIPS_PATH = "annotations/skips.jsonl"
BASELINE = "baseline/"
BASELINE_VOTES_PATH = f"{BASELINE}votes.jsonl"
HARD_PATH = "hard-questions.jsonl"
HARD_COLUMNS: dict[str, Type] = {"id": "string", "config": "string"}
INSTRUMENT_PATH = "instrument/instrument.json"
ADJUDICATIONS_PATH = "annotations/adjudications.jsonl"
DROPPED_PATH = "annotations/dropped-stories.jsonl"
INCOMPLETE_PATH = "annotations/incomplete-stories.jsonl"
STORY_PATHS = {
    Outcome.KEPT: f"{STORY_CONFIG}/test.jsonl",
    Outcome.DROPPED: DROPPED_PATH,
    Outcome.INCOMPLETE: INCOMPLETE_PATH,
}
"""The file of the stories with each outcome. Every story of a study is in one of them."""
REVISIONS_PATH = "annotations/revisions.jsonl"
"""Revisions by the id of the new version; a release without any lacks the file."""
REVISION_COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("story_id", "revised_from"), "string"),
    **{name: ["string"] for name in ("changed", "before", "after")},
    **dict.fromkeys(("reason", "revised_at"), "string"),
}
RATINGS_PATH = "annotations/ratings.jsonl"
LABELS_PATH = "annotations/labels.jsonl"
RECONCILED_PATH = "annotations/reconciled.jsonl"
RESULTS_PATHS = (RATINGS_PATH, LABELS_PATH, RECONCILED_PATH)
"""The files of what people's answers to each item come to, of which a release has one or none."""


def story_paths(rule: StoryFilter) -> dict[Outcome, str]:
    """Return the files of stories in a release with this filter: none of dropped ones if it drops none."""
    return {one: path for one, path in STORY_PATHS.items() if rule.selects or one is not Outcome.DROPPED}


_PROVENANCE: dict[str, Type] = dict.fromkeys(PROVENANCE[:4], "string")
_PREDICTIONS: dict[str, Type] = {
    name: [{rated: "int64", PREDICTOR: "string"}] for name, rated in PREDICTED.items()
}
_STORY_COLUMNS: dict[str, Type] = {
    **_PROVENANCE,
    "entities": {"Person X": "string"},
    "severity_original": "int64",
    **_PREDICTIONS,
    "story": "string",
    "key_information": "string",
    "story_sentence": "string",
    "story_generator_model": "string",
    "questions": [dict.fromkeys(("question_id", "question", "answer_correct", "answer_incorrect"), "string")],
}
_ITEM_COLUMNS: dict[str, Type] = {
    **_PROVENANCE,
    "severity_original": "int64",
    "story_generator_model": "string",
    **_PREDICTIONS,
}


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a protocol's releases: ``story-data`` and the question sets made from it."""

    story_row: Callable[[ReleasedStory], Row]
    story_columns: Mapping[str, Type]
    open_columns: tuple[str, ...]
    """Columns of stories whose type depends on the story; the others are as declared."""
    question_sets: tuple[QuestionSet, ...] = ()

    def columns(self, config: str) -> Mapping[str, Type]:
        """Return the columns of a config that are known before any row."""
        return self.story_columns if config == STORY_CONFIG else QUESTION_COLUMNS

    def columns_of(self, outcome: Outcome) -> Mapping[str, Type]:
        """Return the known columns of the file of stories with this outcome."""
        kept = outcome is Outcome.KEPT
        return self.story_columns if kept else {**self.story_columns, "reason": "string"}

    @property
    def configs(self) -> tuple[str, ...]:
        """The config names for ``datasets.load_dataset``, in order."""
        return (*(question_set.config for question_set in self.question_sets), STORY_CONFIG)


THEORY_OF_MIND = Layout(
    story_data_row,
    _STORY_COLUMNS,
    ("entities",),
    (
        QuestionSet("mental-state-qa", "_aware", partial(ask_stored, 0)),
        QuestionSet("behavior-qa", "_action", partial(ask_stored, 1)),
        QuestionSet("judgment-qa", "_judge", ask_judgment),
    ),
)
ITEMS_ONLY = Layout(item_row, _ITEM_COLUMNS, ("item",))
LAYOUTS: Mapping[base.Layout, Layout] = {"items": ITEMS_ONLY, "theory-of-mind": THEORY_OF_MIND}


def layout_for(protocol_name: str) -> Layout:
    """Return the layout that a protocol states. One that is not installed publishes its items."""
    return LAYOUTS[stated_by(protocol_name).layout]


def config_path(config: str) -> str:
    return f"{config}/test.jsonl"


VOTED_ON: dict[str, Type] = {"story_id": "string", "annotator": "string"}
"""The columns of a vote before the answers."""
CONTEXT: dict[str, Type] = {
    "submitted_at": "string",
    "seconds_on_task": "float64",
    "position": "int64",
    "order_seed": "int64",
    "option_seed": "int64",
    "language": "string",
    "instructions": "int64",
    "comment": "string",
}
"""The columns of a vote after the answers, in the order of the fields of :class:`CountedVote`."""
CONTEXT_KEYS = tuple(CONTEXT)
SKIP_COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("story_id", "annotator", "reason", "words", "skipped_at"), "string"),
    "seconds_on_task": "float64",
    "position": "int64",
}


def vote_columns(answers: Sequence[str], scales: Collection[str]) -> dict[str, Type]:
    """Return the columns of the votes file, given the fields of the answers; those on scales are numbers."""
    given = {field: "int64" if field.partition(".")[0] in scales else "string" for field in answers}
    return {**VOTED_ON, **given, **CONTEXT}
