"""The card of a release: that it says what happened, and that no text of people can reshape it."""

from __future__ import annotations

import dataclasses
import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from publishing import machine_validation
from publishing.card import dataset_card
from publishing.card.citation import citation_cff, read_citation
from publishing.card.figures import figures
from publishing.card.markdown import cell, code, one_line, table
from publishing.card.sections import Documents
from publishing.comparison.changes import Changes
from publishing.facts import ImportedVotes, People, ReleaseFacts, Statement
from publishing.files.rows import THEORY_OF_MIND, config_path
from publishing.filters import Outcome, Verdict, get_filter, objections_in
from publishing.statistics.tally import StatisticsTally
from publishing.totals import Tally
from tests.publishing.chunks import count_votes
from tests.publishing.test_builder import FACTS, build, crowd, judged

SAID = Statement(
    creators=("Lovelace, Ada", "The Boxes Group"),
    motivation="Tests need stories that hold up.",
    platform="People came from a list of volunteers.",
    demographics="Adults in two countries.",
    ethics="The board of boxes, number 7.",
    sensitive_information="Some stories mention theft.",
    biases="English names only.",
    limits="Three votes are few.",
    intended_use="Evaluation.",
    social_impact="It could help.",
    url="https://example.org/boxes",
    doi="10.5281/zenodo.1234",
)


@dataclasses.dataclass
class Known:
    """Everything a card is written from."""

    tally: Tally
    statistics: dict[str, Any]
    guesses: dict[str, Any]

    def card(self, **changes: Any) -> str:
        return self.written(dataclasses.replace(FACTS, **changes))

    def written(self, facts: ReleaseFacts, previous: Changes | None = None) -> str:
        layout = THEORY_OF_MIND
        columns = {config_path(config): layout.columns(config) for config in layout.configs}
        documents = (self.statistics, self.guesses, None, previous)
        made = Documents(layout, columns, {"id": "s```"}, *documents)
        return dataset_card(facts, self.tally, made).decode()


@cache
def known() -> Known:
    """From a small crowd's release, for the tests to alter copies of."""
    tally, statistics = Tally(), StatisticsTally(FACTS.asked)
    for story in crowd(42):
        objections = objections_in([vote.answers for vote in story.votes], story.against)
        verdict = get_filter("all-agree").decide(objections, votes_per_story=3)
        tally.add(story.story, verdict)
        count_votes(tally, story.votes)
        statistics.add(story.story, story.votes, verdict)
    with TemporaryDirectory() as place:
        build(Path(place) / "1", crowd(42))
        guesses = machine_validation.validate(Path(place) / "1", THEORY_OF_MIND).document
    return Known(tally, statistics.document(), guesses)


def card_of(place: Path) -> str:
    return (place / "README.md").read_text(encoding="utf-8")


def front_matter(card: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(card.removeprefix("---\n").split("\n---\n")[0])
    return found


def test_it_says_what_happened() -> None:
    facts = dataclasses.replace(
        FACTS,
        people=People(
            consented=100, attempted=97, passed=19, visited=130, marks=("7 of 8 acceptable answers",)
        ),
        surplus={"late": 2, "not_qualified": 1},
        statement=SAID,
    )
    card = known().written(facts)
    for fact in (
        "# A pilot",
        "Stories about things in boxes.",
        "Tests need stories that hold up.",
        "| stories in the study | 42 |",
        "| stories with 3 votes | 36 |",
        "| stories kept | 24 |",
        "| incomplete stories, without a verdict | 6 |",
        "| annotators whose votes count | 3 |",
        "People came from a list of volunteers. 130 people arrived, and 100 people consented to take part",
        "97 people completed a qualification test, and 19 of 97 (19.6 %) passed; in the published procedure "
        "that this study follows, 19 of 100 people passed. The pass mark was 7 of 8 acceptable answers.",
        "120 votes by 3 annotators count, given on 1 March 2026.",
        "3 surplus votes are stored and credited, but not counted and not in this release: 2 (too late: the "
        "time had run out and no place was left for them) and 1 (from annotators who were no longer "
        "qualified).",
        "`all-agree`: a story is kept if and only if it has exactly 3 counted votes and none of their",
        "15.00 USD per hour",
        "Annotators read the form in English (120 votes, 100.0 %).",
        "- `q1` About q1 (yes · possibly · **no**)",
        "](figures/retention.svg)",
        "| `scenario 0` | 21 | 18 | 12 | 57.1 % | 12 | 0 | 1 |",
        r"| `model\|one` | 21 | 18 | 12 | 57.1 % | 12 | 0 | 1 |",
        "| `q2` | 6 |",
        "6 stories are incomplete and without a verdict, in `annotations/incomplete-stories.jsonl`",
        "This is the first release of the study.",
        "one split, `test`",
        "sha256sum -c MANIFEST",
        'load_dataset("path/to/this/directory", "behavior-qa", split="test")',
        "### Sensitive information\n\nSome stories mention theft.",
        "CC-BY-4.0",
        "@misc{pilot-1,\n  author = {Lovelace, Ada and {The Boxes Group}},",
        "Lovelace, A., \\& The Boxes Group. (2026). A pilot (Release 1)",
    ):
        assert fact in card, fact
    assert "TEST RUN" not in card
    assert "excluded" not in card
    assert "not “validated”" not in card
    assert "stated nothing" not in card


def test_excluded_votes_are_not_surplus_and_their_people_are_counted() -> None:
    card = known().card(surplus={"late": 1, "excluded": 12, "displaced": 1}, excluded_people=3)
    assert "2 surplus votes are stored and credited" in card
    assert "The researchers excluded 12 votes by 3 people; no file of this release has them." in card
    assert "1 (excluded, and readmitted after the place was taken)" in card


def test_votes_of_unconfirmed_visits_are_counted_apart_from_surplus_votes() -> None:
    card = known().card(surplus={"doubted": 2, "late": 1, "pending": 1})
    assert "1 surplus vote is stored and credited" in card
    assert (
        "3 votes are stored, but not counted and not in this release, because the platform has not "
        "confirmed the visit."
    ) in card


def test_people_and_unnamed_authors_are_not_called_models(tmp_path: Path) -> None:
    stories = crowd(42)
    for place, name in enumerate(("human-written", "", "Human")):
        story = dataclasses.replace(stories[place + 1].story, story_generator_model=name)
        stories[place + 1] = dataclasses.replace(stories[place + 1], story=story)
    build(tmp_path / "1", stories)
    card, chart = card_of(tmp_path / "1"), (tmp_path / "1" / "figures/retention.svg").read_text("utf-8")
    who = (
        "39 written by the models {}model two{} and {}model|one{}, 2 written by people and 1 whose author is"
    )
    assert f"**Stories.** The study had 42 stories: {who.format(*'````')} not stated." in card
    described = json.loads((tmp_path / "1" / "croissant.json").read_bytes())
    assert who.format(*[""] * 4) in described["rai:dataCollection"]
    assert "generator" not in chart
    assert "not stated" in chart
    assert "| `not stated` | 1 |" in card


def test_the_agreement_chart_has_a_coefficient_corrected_for_chance() -> None:
    chart = figures(known().statistics, known().guesses, None)["figures/agreement.svg"].decode()
    assert "Corrected for chance: Gwet's AC1" in chart
    assert f">{known().statistics['agreement']['q2']['gwet_ac1']:.2f}<" in chart


def test_a_test_run_says_so_wherever_it_is_listed_or_cited() -> None:
    facts = dataclasses.replace(FACTS, environment="rehearsal")
    cited = yaml.safe_load(citation_cff(facts))
    assert cited["title"] == "TEST RUN: A pilot"
    assert "Do not cite" in cited["message"]
    assert "TEST RUN: A pilot" in read_citation(citation_cff(facts), slug="pilot").bibtex()
    header = front_matter(known().written(facts))
    assert (header["pretty_name"], header["tags"]) == ("TEST RUN: A pilot", ["theory-of-mind", "test-run"])


def test_advice_for_authors_is_for_the_dashboard_only() -> None:
    advice = machine_validation.warnings.advice(known().guesses["configs"])
    assert any("balance the lengths" in line for line in advice)
    public = " ".join([known().card(), *known().guesses["warnings"]])
    assert "alance the lengths" not in public
    assert "in the same words" not in public


def test_agreement_is_that_of_the_statistics_and_says_why_it_is_undefined() -> None:
    card = known().card()
    found = known().statistics["agreement"]
    low, high = found["q2"]["intervals"]["gwet_ac1"]
    assert f"{found['q2']['gwet_ac1']:.2f} [{low:.2f}, {high:.2f}] |" in card
    assert "| the story as a whole | 36 |" in card
    assert found["q4"]["fleiss_kappa"] is None
    why = found["q4"]["undefined"]["fleiss_kappa"]
    assert f"Fleiss' kappa and Krippendorff's alpha of `q4` are undefined: {why}" in card
    assert card.count(why) == 1


def test_machine_validation_is_told_in_words() -> None:
    card = known().card()
    guesses = known().guesses
    assert "| always the shorter choice | 100.0 %" in card
    assert ", for the wrong answer: " in card
    assert guesses["warnings"]
    assert all(one_line(warning).split(":")[0] in card for warning in guesses["warnings"])


def test_how_many_questions_a_machine_saw_is_said_and_that_they_are_a_sample() -> None:
    configs = ("mental-state-qa", "behavior-qa", "judgment-qa")
    assert known().guesses["design"]["sampled_stories"] is None
    asked = [f"{known().guesses['configs'][config]['questions']} of `{config}`" for config in configs]
    seen = f"{asked[0]}, {asked[1]} and {asked[2]}."
    assert f"All questions were used: {seen}" in known().card()
    sample = deepcopy(known())
    sample.guesses["design"] |= {"stories": 90_000, "sampled_stories": 3_998}
    card = sample.card()
    assert "a sample of whole cores was used: 3,998 of its 90,000 stories." in card
    assert f"The questions are {seen}" in card
    assert "All questions" not in card


@pytest.mark.parametrize(
    "name", ["a|b", "a/b", "a`b", "a'b", "``", "`a", "a\\b", "|", "", "a\\|b", "a\\\\||b"]
)
def test_every_name_stays_itself_in_and_outside_tables(name: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    shown = name or "-"
    (line,) = parser.parseInline(f"see {code(name)}.")
    assert [token.content for token in line.children or [] if token.type == "code_inline"] == [shown]
    tokens = parser.parse(table(("name", "n"), [(cell(name), "1")]))
    inside = [child for token in tokens for child in token.children or []]
    assert [token.content.replace("\\ ", "\\") for token in inside if token.type == "code_inline"] == [shown]
    assert [token.content for token in inside if token.type == "text"] == ["name", "n", "1"]


@pytest.mark.parametrize(("level", "said"), [(0.95, "95 %"), (0.975, "97.5 %"), (0.9, "90 %")])
def test_the_level_of_intervals_is_said_whole(level: float, said: str) -> None:
    other = deepcopy(known())
    other.statistics["bootstrap"]["level"] = level
    assert f"In brackets: {said} intervals" in other.card()


def test_languages_and_time_are_those_of_the_votes(tmp_path: Path) -> None:
    story = judged(1, "yyyy", "yyyy", "yyyy")
    german = story.votes[0]._replace(language="de")
    other = story.votes[1]._replace(language="pt-br")
    stories = [
        dataclasses.replace(story, votes=(german, other, *story.votes[2:])),
        judged(2, "yyyy", "yyyy", "yyyy"),
    ]
    build(tmp_path / "1", stories)
    card = card_of(tmp_path / "1")
    assert "English (4 votes, 66.7 %), German (1 vote, 16.7 %) and pt-br (1 vote, 16.7 %)" in card
    assert "Half of the counted votes took 22 seconds or less" in card  # 20.5, 21.5 and 22.5, each twice


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.3, "Half of the counted votes took 1 second or less"),
        (9.001, "Half of the counted votes took 10 seconds or less"),
        (10.0, "Half of the counted votes took 10 seconds or less"),
        (20_000.0, "More than half of the counted votes took about an hour or more"),
    ],
)
def test_the_time_that_half_of_the_votes_took_is_never_understated(seconds: float, said: str) -> None:
    story = judged(1, "yyyy", "yyyy", "yyyy")
    votes = tuple(vote._replace(seconds_on_task=seconds) for vote in story.votes)
    tally = Tally()
    tally.add(story.story, Verdict(Outcome.KEPT))
    count_votes(tally, votes)
    made = dataclasses.replace(known(), tally=tally)
    assert said in made.card()


def test_a_rehearsal_says_so_before_anything_else() -> None:
    body = known().card(environment="rehearsal").split("\n---\n", 1)[1].strip().split("\n\n")
    assert body[0] == "# A pilot"
    assert "THIS IS A TEST RUN" in body[1]
    assert "simulated people" in body[1]


@pytest.mark.parametrize("name", ["two-of-three", "majority"])
def test_another_filter_says_at_the_top_that_nothing_is_validated(name: str) -> None:
    body = known().card(filter_name=name).split("\n---\n", 1)[1].strip().split("\n\n")
    assert "not “validated”" in body[1]
    assert name in body[1]
    assert get_filter(name).sentence(3) in "\n".join(body)
    assert "few enough answers against them" in "\n".join(body)


def test_the_filter_is_said_to_do_what_it_does_and_no_more() -> None:
    card = known().card()
    assert "The kept stories have no answer against them from any annotator" in card
    assert "of one mind" not in card
    assert "clearer" not in card


def test_where_no_answer_counts_against_a_story_the_card_says_so(tmp_path: Path) -> None:
    stories = [judged(number, "yyyy", "nyyy", "ynyy") for number in range(3)]
    harmless = [dataclasses.replace(story, against=frozenset()) for story in stories]
    asked = tuple(dataclasses.replace(question, against=()) for question in FACTS.asked)
    build(tmp_path / "1", harmless, asked=asked)
    assert "No answer could count against a story, so every complete story was kept." in card_of(
        tmp_path / "1"
    )


def test_the_front_matter_has_the_language_of_the_stories() -> None:
    card = known().written(dataclasses.replace(FACTS, story_language="pt-BR"))
    assert front_matter(card)["language"] == ["pt-BR"]


def test_a_study_without_qualification_or_pay_says_so() -> None:
    card = known().card(people=People(consented=4, attempted=None, passed=None), pay_rate=None)
    assert "no qualification test" in card
    assert "states no pay rate" in card
    assert "No vote was too late" in card


def test_imported_votes_beside_votes_that_were_given_here() -> None:
    people = People(consented=7, attempted=None, passed=None)
    card = known().card(people=people, imported=ImportedVotes("release old 2, MANIFEST 00ff", 3))
    assert "3 people voted in another study, and the votes were imported" in card
    assert "4 other people consented to take part in this study" in card


@pytest.mark.parametrize(
    ("stated", "header"),
    [
        ("CC-BY-4.0", {"license": "cc-by-4.0"}),
        ("cc0-1.0", {"license": "cc0-1.0"}),
        ("ODbL-1.0", {"license": "odbl"}),
        ("GPL-3.0-or-later", {"license": "gpl-3.0"}),
        ("The Boxes Licence, v. 2", {"license": "other", "license_name": "the-boxes-licence-v.-2"}),
        ("許可", {"license": "other", "license_name": "see-the-card"}),
    ],
)
def test_the_licence_is_named_as_the_hub_names_it(stated: str, header: dict[str, str]) -> None:
    card = known().card(license=stated)
    assert {key: value for key, value in front_matter(card).items() if "license" in key} == header
    assert f"## Licence\n\nThe researchers license these data under {stated}." in card


def test_the_configs_of_two_releases_differ_for_the_cache_of_datasets() -> None:
    """It tells directories apart by their name and these entries, not by their files."""
    cards = [known().card(salt=salt, number=number) for salt, number in (("00", 1), ("00", 2), ("01", 1))]
    for place, config in enumerate(THEORY_OF_MIND.configs):
        entries = [front_matter(card)["configs"][place] for card in cards]
        assert {entry["config_name"] for entry in entries} == {config}
        assert len({str(entry) for entry in entries}) == 3


def test_what_the_researchers_have_not_stated_is_named() -> None:
    card = known().card(statement=dataclasses.replace(SAID, biases="", limits=""))
    assert "stated nothing about: known biases, known limits." in card


def test_a_protocol_without_question_sets_has_a_card(tmp_path: Path) -> None:
    item = {"text": "A story."}
    build(
        tmp_path / "1", [judged(n, "yyyy", "yyyy", "yyyy", content=item) for n in range(3)], protocol_name="x"
    )
    card = card_of(tmp_path / "1")
    assert "What a machine can guess" not in card
    assert "19 of 100" not in card
    assert not (tmp_path / "1" / "figures" / "machine-validation.svg").exists()
