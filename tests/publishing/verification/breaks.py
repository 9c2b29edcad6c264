"""Every way to break a release whose hashes are right: the file, the check that must see it, its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publishing.instrument import readable
from tests.publishing.verification.support import Row, edit_document, edit_rows, edit_text

VOTES = "annotations/votes.jsonl"
KEPT = "story-data/test.jsonl"
DROPPED = "annotations/dropped-stories.jsonl"
INCOMPLETE = "annotations/incomplete-stories.jsonl"
MENTAL, BEHAVIOR = "mental-state-qa/test.jsonl", "behavior-qa/test.jsonl"
HARD = "hard-questions.jsonl"
COPY = "parquet/annotations/votes.parquet"


@dataclass(frozen=True, slots=True)
class Break:
    """One break; ``check`` must find it in ``file``, in words that have ``words`` among them."""

    name: str
    damage: Callable[[Path], object]
    check: str
    file: str
    words: str


def votes(name: str, words: str, change: Callable[[list[Row]], object], check: str = "schema") -> Break:
    return Break(name, edit_rows(VOTES, change), check, VOTES, words)


def kept(name: str, words: str, change: Callable[[list[Row]], object], check: str = "schema") -> Break:
    return Break(name, edit_rows(KEPT, change), check, KEPT, words)


def release(name: str, words: str, change: Callable[[Row], object], check: str = "schema") -> Break:
    return Break(name, edit_document("release.json", change), check, "release.json", words)


def statistics(name: str, words: str, change: Callable[[Row], object]) -> Break:
    return Break(name, edit_document("statistics.json", change), "statistics", "statistics.json", words)


def question(name: str, words: str, change: Callable[[list[Row]], object], file: str = BEHAVIOR) -> Break:
    return Break(name, edit_rows(file, change), "questions", file, words)


def put(key: str, value: Any, place: int = 0) -> Callable[[list[Row]], None]:
    def change(rows: list[Row]) -> None:
        rows[place][key] = value

    return change


def swap_sides(rows: list[Row]) -> None:
    swap(rows[0])


def other_key(rows: list[Row]) -> None:
    rows[0]["answerKey"] = "B" if rows[0]["answerKey"] == "A" else "A"


def reorder(rows: list[Row]) -> None:
    rows[0] = dict(reversed(rows[0].items()))


def answer_moved_first(rows: list[Row]) -> None:
    row = rows[0]
    rows[0] = {
        key: row[key]
        for key in ("story_id", "annotator", "q2", "q1", "q3", "q4", "submitted_at", "seconds_on_task")
    } | row


def no_to_a_kept_story(rows: list[Row]) -> None:
    next(row for row in rows if row["story_id"] == "s0001")["q3"] = "no"


def yes_to_a_dropped_story(rows: list[Row]) -> None:
    for row in rows:
        if row["story_id"] == "s0003":
            row.update(q1="yes", q3="yes")


def lose_a_vote(rows: list[Row]) -> None:
    rows.remove(next(row for row in rows if row["story_id"] == "s0001"))


def fourth_vote(rows: list[Row]) -> None:
    at = max(place for place, row in enumerate(rows) if row["story_id"] == "s0001")
    rows.insert(at + 1, rows[at] | {"annotator": "annotator-00000000000000ff"})


def same_person_twice(rows: list[Row]) -> None:
    first, second, *_ = (row for row in rows if row["story_id"] == "s0001")
    second["annotator"] = first["annotator"]


def email_asked(rows: list[Row]) -> None:
    (story, person, *rest) = rows[0].items()
    rows[0] = dict([story, person, ("email", "yes"), *rest])


def votes_in_another_order(rows: list[Row]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


def stories_in_another_order(rows: list[Row]) -> None:
    rows[0], rows[1] = rows[1], rows[0]


def entity_lost(rows: list[Row]) -> None:
    del rows[0]["entities"]["Person X"]


def story_twice(rows: list[Row]) -> None:
    rows.insert(1, rows[0])


def awareness_reworded(rows: list[Row]) -> None:
    rows[0]["questions"][0]["question"] = "Does Mary know?"


def unvoted_story(rows: list[Row]) -> None:
    asked = [
        one | {"question_id": one["question_id"].replace(rows[-1]["story_id"], "s9999")}
        for one in rows[-1]["questions"]
    ]
    rows.append(rows[-1] | {"story_id": "s9999", "questions": asked, "reason": "q1"})


def rated(rating: Any) -> Callable[[list[Row]], None]:
    return put("harmfulness_predicted", [{"harmfulness": rating, "predictor_model": "judge-1"}])


def easy_question(rows: list[Row]) -> None:
    rows.append({"id": "s0001_action", "config": "behavior-qa"})


def all_first(place: Path) -> None:
    """Another median, and every right answer of a question set where it puts them."""
    edit_document("release.json", lambda d: d["medians"].update({"behavior-qa": "f" * 16}))(place)

    def first(rows: list[Row]) -> None:
        for row in rows:
            if row["answerKey"] == "B":
                swap(row)

    edit_rows(BEHAVIOR, first)(place)


def swap(row: Row) -> None:
    row["choices"]["text"].reverse()
    row["answerKey"] = "B" if row["answerKey"] == "A" else "A"


def scenario_renamed(document: Row) -> None:
    document["by_scenario"]["scenario 2"] = document["by_scenario"].pop("scenario 1")


def generated_moved(document: Row) -> None:
    for name, step in (("scenario 0", 1), ("scenario 1", -1)):
        document["by_scenario"][name]["kept"] += step
        document["by_scenario"][name]["generated"] += step


def incomplete_grown(document: Row) -> None:
    document["by_scenario"]["scenario 0"]["incomplete"] += 1
    document["by_scenario"]["scenario 0"]["generated"] += 1


def q1_percent(document: Row) -> None:
    document["agreement"]["q1"]["percent"] = 0.5


def interval_moved(document: Row) -> None:
    document["agreement_on_validity"]["intervals"]["percent"][0] -= 1e-6


def without_filter_rule(document: Row) -> None:
    document["filter"]["rule"] = "a story is kept"


def nothing_counts(document: Row) -> None:
    for asked in document["questions"]:
        asked["against"] = []


def nobody_asked_q4(document: Row) -> None:
    document["questions"].pop()


def options_left_to_the_story(document: Row) -> None:
    document["questions"][2].update(options=[], against=[])


def bytes_added(path: str, data: bytes) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        with open(place / path, "ab") as file:
            file.write(data)

    return damage


def file_added(place: Path) -> None:
    (place / "annotations" / "people.csv").write_text("id\n", encoding="utf-8")


def file_removed(place: Path) -> None:
    (place / "judgment-qa" / "test.jsonl").unlink()


def kept_and_dropped(place: Path) -> None:
    """The first kept story among the dropped ones too, before all others."""
    row = json.loads((place / KEPT).read_bytes().splitlines()[0]) | {"reason": "q1"}
    edit_rows(DROPPED, lambda rows: rows.insert(0, row))(place)


INSTRUMENT, FORM = "instrument/instrument.json", "instrument/form-0-en.md"


def instrument_rewritten(place: Path) -> None:
    """Another hint in both of its forms, as one who wants to hide it would write it."""
    edit_document(INSTRUMENT, lambda d: d["forms"][0]["questions"][0].update(help="Say yes."))(place)
    for path, text in readable(json.loads((place / INSTRUMENT).read_bytes())).items():
        (place / path).write_bytes(text)


DECISIONS = "annotations/adjudications.jsonl"
BREAKS = (
    Break("a file nobody knows", file_added, "hashes", "annotations/people.csv", "No release has"),
    Break("a file of the layout is away", file_removed, "hashes", "judgment-qa/test.jsonl", "does not list"),
    Break(
        "an easy question called hard",
        edit_rows(HARD, easy_question),
        "machine-validation",
        HARD,
        "but not the",
    ),
    votes("a key more", "email is not a question", email_asked),
    votes("a key after the last", "keys", put("worker", "w")),
    votes("an unknown option", "is not an option", put("q1", "maybe")),
    votes("free text as an answer", "is not an option", put("q1", "ask ann@example.org")),
    votes("an answer that is no text", "not a text", put("q1", True)),
    votes("an answer is missing", "no answer to q4", lambda rows: rows[0].pop("q4")),
    votes("answers in another order", "order of the questions", answer_moved_first),
    votes("keys in another order", "keys", reorder),
    votes("a name for an annotator", "pseudonym", put("annotator", "annotator-Mary")),
    votes("a worker id for an annotator", "pseudonym", put("annotator", "A1B2C3D4E5F6G7")),
    votes("a local time", "submitted_at", put("submitted_at", "2026-03-01T09:30:00+01:00")),
    votes("a day that never was", "submitted_at", put("submitted_at", "2026-02-30T09:30:00.000Z")),
    votes("time that runs backwards", "seconds_on_task", put("seconds_on_task", -1)),
    votes("time as a text", "seconds_on_task", put("seconds_on_task", "3")),
    votes("votes in another order", "in order of time", votes_in_another_order),
    votes("votes on a story come twice", "is not in order", lambda rows: rows.append(rows.pop(0))),
    Break("a line cut off", bytes_added(VOTES, b'{"story_id":"z"'), "schema", VOTES, "cut off"),
    Break(
        "a line with spaces",
        bytes_added(VOTES, b'{"story_id": "z"}\n'),
        "schema",
        VOTES,
        "not one JSON object",
    ),
    Break(
        "a key given twice",
        edit_text(VOTES, '"q1":', '"q1":"no","q1":'),
        "schema",
        VOTES,
        "not one JSON object",
    ),
    Break("an empty line", bytes_added(KEPT, b"\n"), "schema", KEPT, "not one JSON object"),
    Break(
        "a number that is none",
        edit_text("statistics.json", '"level": 0.95', '"level": NaN'),
        "schema",
        "statistics.json",
        "NaN",
    ),
    kept("a story's key more", "keys", put("note", "x")),
    kept("a severity as a text", "severity_original", put("severity_original", "1")),
    kept("a severity that is true", "severity_original", put("severity_original", True)),
    kept("no person", "Person X", entity_lost),
    kept("an awareness question of its own", "questions does not follow", awareness_reworded),
    kept("a story twice", "twice", story_twice),
    kept("stories in another order", "in order of id", stories_in_another_order),
    Break(
        "a no to a kept story",
        edit_rows(VOTES, no_to_a_kept_story),
        "decisions",
        KEPT,
        "is kept; by its votes it is dropped (q3)",
    ),
    Break(
        "no longer a no to a dropped story",
        edit_rows(VOTES, yes_to_a_dropped_story),
        "decisions",
        DROPPED,
        "dropped (q1,q3); by its votes it is kept",
    ),
    Break("a vote is lost", edit_rows(VOTES, lose_a_vote), "decisions", KEPT, "2 of 3 votes"),
    votes("a vote too many", "4 votes; 3 count", fourth_vote, "decisions"),
    votes("somebody votes twice", "voted twice", same_person_twice, "decisions"),
    Break(
        "a complete story is in no file",
        edit_rows(KEPT, lambda rows: rows.pop(0)),
        "decisions",
        VOTES,
        "in no file of stories",
    ),
    Break("a story kept and dropped", kept_and_dropped, "decisions", DROPPED, "kept and dropped"),
    Break(
        "a story dropped for another reason",
        edit_rows(DROPPED, put("reason", "q4")),
        "decisions",
        DROPPED,
        "dropped (q4); by its votes it is dropped",
    ),
    Break(
        "a dropped story nobody voted on",
        edit_rows(DROPPED, unvoted_story),
        "decisions",
        DROPPED,
        "0 of 3 votes",
    ),
    question("the right answer on the other side", "choices.text[0] is", swap_sides),
    question("the wrong answer is called right", "answerKey is", other_key),
    question("a key that is no label", "answerKey is C", put("answerKey", "C")),
    question("another question", "question is Why?", put("question", "Why?")),
    question("another id", "id is s0001_other", put("id", "s0001_other")),
    question("choices without labels", "choices: the keys", put("choices", {"text": ["a", "b"]})),
    question(
        "other choices", "choices.text[0] is", put("choices", {"text": ["a", "b"], "label": ["A", "B"]})
    ),
    question("another order of keys", "keys", reorder),
    question("a question is missing", "no question about", lambda rows: rows.pop()),
    question("a question too many", "no kept story", lambda rows: rows.append(rows[0] | {"id": "z"})),
    question("Yes is right", "answerKey is", other_key, MENTAL),
    question("a list for a right answer", "answerKey is ['A']", put("answerKey", ["A"])),
    question(
        "choices under other names", "choices: the keys", put("choices", {"texts": ["a", "b"], "label": []})
    ),
    Break(
        "a line of a question set that is none",
        bytes_added(BEHAVIOR, b"garbage\n"),
        "schema",
        BEHAVIOR,
        "not one JSON object",
    ),
    Break(
        "a number beyond 64 bits",
        edit_rows(KEPT, put("severity_original", 2**70)),
        "parquet",
        "parquet/story-data/test.parquet",
        "types of severity_original",
    ),
    Break(
        "a list for the name of a config",
        edit_text("README.md", "config_name: judgment-qa", "config_name: [judgment-qa]"),
        "card",
        "README.md",
        "does not say what follows",
    ),
    kept("a rating out of range", "harmfulness is not a rating from 1 to 5", rated(6)),
    kept("a rating that is none", "harmfulness is not a rating from 1 to 5", rated(True)),
    release("medians of another kind", "16 hexadecimal", lambda d: d.update(medians={"behavior-qa": 1})),
    Break(
        "a statement that the card does not have",
        edit_document("release.json", lambda d: d["statement"].update(motivation="Money.")),
        "card",
        "README.md",
        "does not say",
    ),
    Break(
        "a decision about no story",
        edit_rows(DECISIONS, lambda rows: rows.append(rows[-1] | {"story_id": "s9999"})),
        "decisions",
        DECISIONS,
        "in no file of stories",
    ),
    Break(
        "a decision that is none",
        edit_rows(DECISIONS, put("verdict", "perhaps")),
        "schema",
        DECISIONS,
        "verdict is not one of",
    ),
    Break(
        "a decision at no time", edit_rows(DECISIONS, put("decided_at", "now")), "schema", DECISIONS, "a time"
    ),
    Break("a decision by name", edit_rows(DECISIONS, put("by", "Ann")), "schema", DECISIONS, "keys"),
    Break(
        "a decision with an address",
        edit_rows(DECISIONS, put("reason", "ann@example.org says so")),
        "identifiers",
        DECISIONS,
        "e-mail",
    ),
    Break("an instrument rewritten", instrument_rewritten, "instrument", INSTRUMENT, "installed protocol"),
    Break("a page rewritten", bytes_added(FORM, b"Say yes."), "instrument", FORM, "does not say"),
    Break(
        "a page that no vote names",
        bytes_added("instrument/form-7-en.md", b"x"),
        "instrument",
        "instrument/form-7-en.md",
        "does not say",
    ),
    Break("a page is away", lambda place: (place / FORM).unlink(), "instrument", FORM, "does not say"),
    Break(
        "a form is away",
        edit_document(INSTRUMENT, lambda d: d["forms"].clear()),
        "instrument",
        INSTRUMENT,
        "each version",
    ),
    Break(
        "an instrument that is none",
        edit_document(INSTRUMENT, lambda d: d.update(forms=[7])),
        "instrument",
        INSTRUMENT,
        "not of the form",
    ),
    Break(
        "an option of their own",
        edit_document(INSTRUMENT, lambda d: d["forms"][0]["questions"][0]["options"].pop()),
        "instrument",
        INSTRUMENT,
        "not those of release.json",
    ),
    Break(
        "a version that nobody wrote",
        edit_rows(VOTES, put("instructions", 4)),
        "instrument",
        INSTRUMENT,
        "each version",
    ),
    votes("a version that is none", "instructions is not a whole", put("instructions", "1")),
    votes("a language that is none", "language tag", put("language", "<b>")),
    release("a source without a licence's place", "sources", lambda d: d["sources"][0].pop("license")),
    Break("an empty directory", lambda place: (place / "extra").mkdir(), "hashes", "extra", "empty"),
    Break(
        "an incomplete story is away",
        edit_rows(INCOMPLETE, lambda rows: rows.pop()),
        "decisions",
        VOTES,
        "in no file of stories",
    ),
    Break(
        "an incomplete story for another reason",
        edit_rows(INCOMPLETE, put("reason", "1 of 3 votes")),
        "decisions",
        INCOMPLETE,
        "2 of 3 votes",
    ),
    release("no questions", "older version", lambda d: d.pop("questions")),
    release("a key more in release.json", "keys", lambda d: d.update(contact="x")),
    release("a filter nobody knows", "filter.name is not one of", lambda d: d["filter"].update(name="some")),
    release("a rule in other words", "does not match the definition", without_filter_rule),
    release(
        "a question that counts an unknown option",
        "questions",
        lambda d: d["questions"][0].update(against=["never"]),
    ),
    release("nothing counts against a story", "(against a story: none)", nothing_counts, "decisions"),
    release("a question nobody was asked", "questions are not those of", nobody_asked_q4, "decisions"),
    release(
        "options that depend on the story", "has the options none", options_left_to_the_story, "decisions"
    ),
    release("one kept too many", "counts.kept", lambda d: d["counts"].update(kept=99), "counts"),
    release("votes miscounted", "counts.votes", lambda d: d["counts"].update(votes=1), "counts"),
    release(
        "annotators miscounted", "counts.annotators", lambda d: d["counts"].update(annotators=4), "counts"
    ),
    release(
        "reasons miscounted",
        "dropped_by_reason",
        lambda d: d["counts"]["dropped_by_reason"].update(q2=1),
        "counts",
    ),
    release(
        "fewer incomplete than have votes",
        "counts.incomplete",
        lambda d: d["counts"].update(incomplete=1, stories=21),
        "counts",
    ),
    release(
        "the total does not add up", "counts.stories", lambda d: d["counts"].update(stories=99), "counts"
    ),
    release(
        "a mail address in the title",
        "e-mail address",
        lambda d: d.update(title="by ann@example.org"),
        "identifiers",
    ),
    release(
        "a worker id in the title",
        "Mechanical Turk",
        lambda d: d.update(title="by A1B2C3D4E5F6G7"),
        "identifiers",
    ),
    release(
        "a Prolific id in the title",
        "Prolific",
        lambda d: d.update(title="5f3c0a1b2c3d4e5f60718293"),
        "identifiers",
    ),
    statistics("agreement", "agreement.q1.percent", q1_percent),
    statistics("an interval", "intervals.percent[0]", interval_moved),
    statistics("kept stories moved between scenarios", "by_scenario.scenario 0.kept", generated_moved),
    statistics("a scenario renamed", "by_scenario: the keys", scenario_renamed),
    statistics(
        "incomplete stories that are not there", "by_scenario.scenario 0.incomplete", incomplete_grown
    ),
    statistics("generated does not add up", "generated", lambda d: d["stories"].update(generated=1)),
    statistics("retention", "retention", lambda d: d["stories"].update(retention=0.9)),
    statistics("unique entities", "unique_x", lambda d: d["stories"].update(unique_x=1)),
    statistics("a key is away", "keys", lambda d: d.pop("bootstrap")),
)
