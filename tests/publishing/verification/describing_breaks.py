"""Ways to break what stands beside the rows: charts, copies, the card, Croissant, the citation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.publishing.verification.breaks import KEPT, Break, Damage, bytes_added, put, row_by_row, together
from tests.publishing.verification.support import Row, edit_copy, edit_document, edit_text

RETENTION = "figures/retention.svg"
VOTES_COPY, SKIPS_COPY = "parquet/annotations/votes.parquet", "parquet/annotations/skips.parquet"
STORIES_COPY = "parquet/story-data/test.parquet"
MENTAL_COPY, BEHAVIOR_COPY, JUDGMENT_COPY = (
    f"parquet/{config}/test.parquet" for config in ("mental-state-qa", "behavior-qa", "judgment-qa")
)


# Copies


def without_last_row(table: Any) -> Any:
    return table.slice(0, table.num_rows - 1)


def another_answer(table: Any) -> Any:
    place = table.schema.get_field_index("q1")
    values = table.column("q1").to_pylist()
    values[5] = "possibly" if values[5] == "yes" else "yes"
    return table.set_column(place, "q1", [values])


def another_type(table: Any) -> Any:
    place = table.schema.get_field_index("seconds_on_task")
    return table.set_column(place, "seconds_on_task", table.column(place).cast("string"))


def schema_noted(table: Any) -> Any:
    return table.replace_schema_metadata({"contact": "ann@example.org"})


def field_noted(table: Any) -> Any:
    field = table.schema.field("id").with_metadata({"contact": "ann@example.org"})
    return table.cast(table.schema.set(table.schema.get_field_index("id"), field))


def file_noted(path: str) -> Damage:
    """An entry beside the schema, where readers of the schema do not see it."""

    def damage(place: Path) -> None:
        table = pq.read_table(place / path)
        with pq.ParquetWriter(place / path, table.schema) as file:
            file.write_table(table)
            file.add_key_value_metadata({"contact": "ann@example.org"})

    return damage


COPIES = (
    Break(
        "copies with other rows",
        together(
            edit_copy(VOTES_COPY, another_answer),
            edit_copy(SKIPS_COPY, another_type),
            edit_copy(BEHAVIOR_COPY, without_last_row),
            lambda place: (place / MENTAL_COPY).write_bytes(b"no"),
        ),
        "parquet",
        {
            VOTES_COPY: ("Row 6",),
            SKIPS_COPY: ("seconds_on_task",),
            BEHAVIOR_COPY: ("is not that",),
            MENTAL_COPY: ("cannot be compared",),
        },
    ),
    Break(
        "copies with notes",
        together(
            edit_copy(VOTES_COPY, schema_noted),
            edit_copy(JUDGMENT_COPY, field_noted),
            file_noted(STORIES_COPY),
        ),
        "parquet",
        {
            VOTES_COPY: ("metadata of the schema",),
            JUDGMENT_COPY: ("metadata of the schema",),
            STORIES_COPY: ("1 entries that no copy has",),
        },
    ),
    Break(
        "a number beyond 64 bits",
        row_by_row(KEPT, put("severity_original", 2**70)),
        "parquet",
        {STORIES_COPY: ("types of severity_original",)},
    ),
)


# The card, of which the first difference is found


def card(name: str, words: str, damage: Damage) -> Break:
    return Break(name, damage, "card", {"README.md": (words,)})


def card_says(name: str, old: str, new: str, words: str) -> Break:
    return card(name, words, edit_text("README.md", old, new))


CARDS = (
    card_says(
        "a config of another file",
        "path: judgment-qa/test.jsonl",
        "path: behavior-qa/test.jsonl",
        "does not say what follows",
    ),
    card_says("another salt for the readers' cache", "release 1, 00ff", "release 1, 00fe", "pretty_name"),
    card_says("more stories kept", "| stories kept | ", "| stories kept | 9,9", "in this release"),
    card_says("a better kappa", "| `q1` | 20 | 0.", "| `q1` | 20 | 0.9", "raw agreement"),
    card_says("another author in the card", "The study pilot", "Mallory", "bibtex"),
    card_says(
        "a second table",
        "## How the",
        "| stories kept | 9,999 |\n\n## How the",
        "a table that does not belong",
    ),
    card_says("a section nobody wrote", "## How the", "## Results\n\nGood.\n\n## How the", "a heading"),
    card("a section at the end", "text after its last section", bytes_added("README.md", b"\n## More\n")),
    card(
        "a statement that the card does not have",
        "does not say",
        edit_document("release.json", lambda d: d["statement"].update(motivation="Money.")),
    ),
)


# Charts, Croissant, the citation


def other_charts(place: Path) -> None:
    chart = (place / RETENTION).read_text(encoding="utf-8")
    (place / "figures" / "extra.svg").write_text(chart, encoding="utf-8")
    (place / RETENTION).write_text(chart.replace("</svg>", "<script>x</script></svg>"), encoding="utf-8")
    (place / "figures" / "agreement.svg").unlink()


def other_croissant(document: Row) -> None:
    document["contact"] = "x"
    document.update({"license": "CC0-1.0", "name": "B", "description": "No votes."})
    document["creator"][0].update(name="Mallory")
    document["rai:hasSyntheticData"] = False
    document["rai:dataCollection"] = document["rai:dataCollection"].replace(
        "annotators gave", "0 annotators gave"
    )
    document["rai:dataBiases"].pop(0)
    document["prov:wasDerivedFrom"][0].update({"sc:sha256": "c"})
    document["distribution"][0].update(contentUrl="x")
    first, second, third, *_ = document["recordSet"][0]["field"]
    del first["description"]
    second.update(dataType="sc:Integer")
    third["source"]["fileObject"]["@id"] = "other"


DESCRIPTIONS = (
    Break(
        "other charts",
        other_charts,
        "figures",
        {
            "figures/extra.svg": ("no such chart",),
            RETENTION: ("not the one",),
            "figures/agreement.svg": ("missing",),
        },
    ),
    Break(
        "Croissant says something else",
        edit_document("croissant.json", other_croissant),
        "croissant",
        {
            "croissant.json": (
                "The document: the keys are not what they should be (contact)",
                "license is",
                "name is B",
                "description is No votes",
                "creator[0].name is",
                "rai:hasSyntheticData is",
                "rai:dataCollection is",
                "rai:dataBiases is",
                "prov:wasDerivedFrom[0].sc:sha256 is",
                "distribution[0].contentUrl is",
                "recordSet[0].field[0]: the keys are not what they should be (description)",
                "recordSet[0].field[1].dataType is",
                "recordSet[0].field[2].source.fileObject.@id is",
            )
        },
    ),
    Break(
        "another author in the citation",
        edit_text("CITATION.cff", "name: The study pilot", "name: Mallory"),
        "citation",
        {"CITATION.cff": ("It ",)},
    ),
)
DESCRIBING_BREAKS = (*COPIES, *CARDS, *DESCRIPTIONS)
