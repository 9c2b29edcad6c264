"""Ways to break what stands beside the rows: charts, copies, the card, Croissant, the citation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.publishing.verification.breaks import COPY, Break, bytes_added
from tests.publishing.verification.support import Row, edit_copy, edit_document, edit_text


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


RETENTION = "figures/retention.svg"


def chart_added(place: Path) -> None:
    (place / "figures" / "extra.svg").write_bytes((place / RETENTION).read_bytes())


def schema_noted(table: Any) -> Any:
    return table.replace_schema_metadata({"contact": "ann@example.org"})


def field_noted(table: Any) -> Any:
    field = table.schema.field("q1").with_metadata({"contact": "ann@example.org"})
    return table.cast(table.schema.set(table.schema.get_field_index("q1"), field))


def file_noted(place: Path) -> None:
    """An entry beside the schema, where readers of the schema do not see it."""
    table = pq.read_table(place / COPY)
    with pq.ParquetWriter(place / COPY, table.schema) as file:
        file.write_table(table)
        file.add_key_value_metadata({"contact": "ann@example.org"})


def croissant(change: Callable[[Row], object]) -> Callable[[Path], None]:
    return edit_document("croissant.json", change)


def read_from_nowhere(document: Row) -> None:
    document["recordSet"][0]["field"][0]["source"]["fileObject"]["@id"] = "other"


def card(name: str, old: str, new: str, words: str) -> Break:
    return Break(name, edit_text("README.md", old, new), "card", "README.md", words)


def citation(name: str, old: str, new: str, found: tuple[str, str, str]) -> Break:
    return Break(name, edit_text("CITATION.cff", old, new), *found)


CARD = ("card", "README.md", "does not say")
CITATION = ("citation", "CITATION.cff", "It ")


def croissant_says(name: str, words: str, change: Callable[[Row], object]) -> Break:
    return Break(name, croissant(change), "croissant", "croissant.json", words)


DESCRIBING_BREAKS = (
    Break(
        "a field without its meaning",
        edit_document("croissant.json", lambda d: d["recordSet"][0]["field"][0].pop("description")),
        "croissant",
        "croissant.json",
        "description",
    ),
    Break(
        "stories by models called human",
        edit_document("croissant.json", lambda d: d.update({"rai:hasSyntheticData": False})),
        "croissant",
        "croissant.json",
        "hasSyntheticData",
    ),
    Break(
        "another source",
        edit_document("croissant.json", lambda d: d["prov:wasDerivedFrom"][0].update({"sc:sha256": "c"})),
        "croissant",
        "croissant.json",
        "wasDerivedFrom",
    ),
    Break(
        "a chart with another figure",
        edit_text(RETENTION, " of ", " of 9"),
        "figures",
        RETENTION,
        "not the one",
    ),
    Break(
        "a script in a chart",
        edit_text(RETENTION, "</svg>", "<script>x</script></svg>"),
        "figures",
        RETENTION,
        "not the one",
    ),
    Break("a chart too many", chart_added, "figures", "figures/extra.svg", "no such chart"),
    Break("a chart is away", lambda place: (place / RETENTION).unlink(), "figures", RETENTION, "missing"),
    Break("metadata in a copy", edit_copy(COPY, schema_noted), "parquet", COPY, "metadata of the schema"),
    Break("metadata of a column", edit_copy(COPY, field_noted), "parquet", COPY, "metadata of the schema"),
    Break("metadata beside the schema", file_noted, "parquet", COPY, "1 entries that no copy has"),
    Break(
        "a worker id in the card",
        bytes_added("README.md", b"\nThanks to A1B2C3D4E5F6G7.\n"),
        "identifiers",
        "README.md",
        "Mechanical Turk",
    ),
    Break(
        "a Prolific id in the card",
        bytes_added("README.md", b"\nThanks to 5f3c0a1b2c3d4e5f60718293.\n"),
        "identifiers",
        "README.md",
        "Prolific",
    ),
    Break(
        "a mail address in the card",
        bytes_added("README.md", b"\nThanks to ann@example.org.\n"),
        "identifiers",
        "README.md",
        "e-mail",
    ),
    Break(
        "a worker id in Croissant",
        croissant(lambda d: d.update(description="Thanks to A1B2C3D4E5F6G7.")),
        "identifiers",
        "croissant.json",
        "Mechanical Turk",
    ),
    Break(
        "a Prolific id in the citation",
        bytes_added("CITATION.cff", b"contact: 5f3c0a1b2c3d4e5f60718293\n"),
        "identifiers",
        "CITATION.cff",
        "Prolific",
    ),
    Break(
        "a mail address in a chart",
        edit_text(RETENTION, "</svg>", "<!-- ann@example.org --></svg>"),
        "identifiers",
        RETENTION,
        "e-mail",
    ),
    card("more stories kept", "| stories kept | ", "| stories kept | 9,9", "in this release"),
    card("a better kappa", "| `q1` | 20 | 0.", "| `q1` | 20 | 0.9", "raw agreement"),
    card("another salt for the readers' cache", "release 1, 00ff", "release 1, 00fe", "pretty_name"),
    card("another licence in the card", "CC-BY-4.0.", "CC0-1.0.", "CC-BY-4.0"),
    card("another author in the card", "The study pilot", "Mallory", "bibtex"),
    card(
        "a second table",
        "## How the",
        "| stories kept | 9,999 |\n\n## How the",
        "a table that does not belong",
    ),
    card("a section nobody wrote", "## How the", "## Results\n\nGood.\n\n## How the", "a heading"),
    Break(
        "a section at the end",
        bytes_added("README.md", b"\n## More\n"),
        "card",
        "README.md",
        "text after its last section",
    ),
    citation("another author in the citation", "name: The study pilot", "name: Mallory", CITATION),
    citation("another title in the citation", "title: A pilot", "title: B", CITATION),
    citation("another licence in the citation", "CC-BY-4.0", "CC0-1.0", CITATION),
    citation("a citation of another shape", "authors:", "people:", CITATION),
    croissant_says("another licence in Croissant", "license", lambda d: d.update(license="CC0-1.0")),
    croissant_says(
        "another creator in Croissant", "creator", lambda d: d["creator"][0].update(name="Mallory")
    ),
    croissant_says("another title in Croissant", "name", lambda d: d.update(name="B")),
    croissant_says(
        "another description in Croissant", "description", lambda d: d.update(description="No votes.")
    ),
    croissant_says(
        "more people in Croissant",
        "rai:dataCollection",
        lambda d: d.update(
            {"rai:dataCollection": d["rai:dataCollection"].replace("annotators gave", "0 annotators gave")}
        ),
    ),
    croissant_says("a bias left out", "rai:dataBiases", lambda d: d["rai:dataBiases"].pop(0)),
    croissant_says(
        "another type of a field",
        "recordSet",
        lambda d: d["recordSet"][0]["field"][0].update(dataType="sc:Integer"),
    ),
    croissant_says("a key more in Croissant", "the keys", lambda d: d.update(contact="x")),
    Break("a row short", edit_copy(COPY, without_last_row), "parquet", COPY, "is not that"),
    Break("one cell differs", edit_copy(COPY, another_answer), "parquet", COPY, "Row 6"),
    Break("another type", edit_copy(COPY, another_type), "parquet", COPY, "seconds_on_task"),
    Break(
        "not Parquet", lambda place: (place / COPY).write_bytes(b"no"), "parquet", COPY, "cannot be compared"
    ),
    Break(
        "a config is not declared",
        edit_text("README.md", "config_name: judgment-qa", "config_name: other"),
        "card",
        "README.md",
        "does not say what follows",
    ),
    Break(
        "a config of another file",
        edit_text("README.md", "path: judgment-qa/test.jsonl", "path: behavior-qa/test.jsonl"),
        "card",
        "README.md",
        "does not say what follows",
    ),
    Break(
        "another type declared",
        edit_text("README.md", "dtype: int64", "dtype: string"),
        "card",
        "README.md",
        "does not say what follows",
    ),
    Break("no YAML", edit_text("README.md", "---\n", "\n"), "card", "README.md", "does not say what follows"),
    Break(
        "Croissant names a file that is not there",
        croissant(lambda d: d["distribution"][0].update(contentUrl="x")),
        "croissant",
        "croissant.json",
        "distribution[0].contentUrl",
    ),
    Break(
        "Croissant reads from nowhere",
        croissant(read_from_nowhere),
        "croissant",
        "croissant.json",
        "recordSet[0].field[0].source.fileObject.@id",
    ),
)
