"""``croissant.json``: machine-readable metadata about the release, its files and its columns. Pure.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html) with the vocabulary for
responsible AI, RAI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html). Items without a
statement are left out.

Records are read from the Parquet copies, because ``mlcroissant`` reads an id such as ``0012`` in JSON Lines
as a number. Only the dropped stories, which have no copy, are read from JSON Lines.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from publishing.card.citation import SPDX, citation
from publishing.card.contents import MEANINGS, copied, meaning_of, name_of, summary_of
from publishing.card.markdown import one_line
from publishing.card.sections import authors
from publishing.facts import AskedQuestion, ReleaseFacts
from publishing.files import rows
from publishing.files.directory import FileFacts, content_type
from publishing.files.features import UNKNOWN, Type
from publishing.files.parquet import is_text, parquet_path
from publishing.filters import Outcome
from publishing.results import per_item
from publishing.totals import Tally

CROISSANT_PATH = "croissant.json"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")

KEPT_PATH = rows.STORY_PATHS[Outcome.KEPT]
WITHOUT_KEY = (rows.VOTES_PATH, rows.SKIPS_PATH, *rows.RESULTS_PATHS)
"""Files whose rows have no column that names them."""
NO_TEST = "There was no qualification test."

Node = dict[str, Any]

CONTEXT: Node = json.loads((Path(__file__).parent / "text/croissant_context.json").read_bytes())
"""The context that the format prescribes; ``mlcroissant`` warns if a name is missing."""

_SCALARS = {
    "string": "sc:Text",
    UNKNOWN: "sc:Text",
    "bool": "sc:Boolean",
    "int64": "sc:Integer",
    "float64": "sc:Float",
}
_FORMATS = {".jsonl": "application/jsonlines", ".parquet": "application/x-parquet"}
"""Media types that Croissant prescribes instead of those of a download."""


def document(
    facts: ReleaseFacts,
    tally: Tally,
    columns: Mapping[str, Mapping[str, Type]],
    files: Sequence[FileFacts],
    machine_warnings: Sequence[str],
) -> Node:
    """Return the content of ``croissant.json``, given the columns by file, and the files written so far."""
    cited, statement = citation(facts), facts.statement
    selects = facts.rule.selects
    models, _by_people, unknown = tally.authors()
    doi = f"https://doi.org/{cited.doi}" if cited.doi else ""
    rehearsal = "A TEST RUN: the votes are not human judgements. " if facts.is_rehearsal else ""
    text = one_line(facts.description) or one_line(facts.title)
    described = {
        "name": one_line(facts.title),
        "description": f"{rehearsal}{text} Release {facts.number} of the study {facts.slug}."
        f"{_not_validated(facts)}",
        "conformsTo": list(CONFORMS_TO),
        "license": f"https://spdx.org/licenses/{facts.license}" if facts.license in SPDX else facts.license,
        "url": cited.url or doi or facts.url,
        "sameAs": doi if cited.url else "",
        "version": f"{facts.number}.0.0",
        "datePublished": facts.created.date().isoformat(),
        "creator": [
            {"@type": "sc:Person", "name": f"{given} {family}", "givenName": given, "familyName": family}
            if given
            else {"@type": "sc:Organization", "name": family}
            for family, given in cited.creators
        ],
        "inLanguage": facts.story_language,
        "citeAs": cited.bibtex(),
        **_responsibility(facts, tally, machine_warnings),
        "rai:dataUseCases": _statement_item(statement.intended_use),
        "rai:annotatorDemographics": _statement_item(statement.demographics),
        "rai:dataSocialImpact": one_line(statement.social_impact),
        "rai:hasSyntheticData": True if models else None if unknown else False,
        **_provenance(facts, tally, files),
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        **{name: value for name, value in described.items() if value not in ("", [], None)},
        "isLiveDataset": False,
        "distribution": [
            _file_object(file, selects=selects) for file in sorted(files, key=lambda file: file.path)
        ],
        "recordSet": [
            _record_set(path, columns[path], facts)
            for path in sorted(file.path for file in files if file.size)
            if path in columns
        ],
    }


def _provenance(facts: ReleaseFacts, tally: Tally, files: Sequence[FileFacts]) -> Node:
    """Return the files of stories, and each step from them to the release with the hash of its result."""
    hashes = {file.path: file.sha256 for file in files}
    rule = facts.rule
    steps = (
        ("Test", "What annotators were shown and asked.", rows.INSTRUMENT_PATH),
        ("Votes", "The annotators' counted votes.", rows.VOTES_PATH),
        ("Filter", f"The kept stories: {rule.sentence(facts.votes_per_story)}.", KEPT_PATH)
        if rule.selects
        else ("Resolution", "The items with all their votes.", KEPT_PATH),
        ("Release", f"tomannot {facts.code_version} wrote the files.", "release.json"),
    )
    sources = [_entity(source["file"], source["sha256"], source["license"]) for source in facts.sources]
    made = [("Generation", f"The stories: {authors(tally, str)}.", sources)]
    made.append(("Import", "The files of stories were checked and imported.", sources))
    made += [(label, said, [_entity(path, hashes[path])]) for label, said, path in steps]
    return {
        "prov:wasDerivedFrom": sources,
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "prov:label": label, "sc:description": said, "prov:generated": result}
            for label, said, result in made
        ],
    }


def _entity(name: str, sha256: str, license: str = "") -> Node:
    stated = {"prov:label": name, "sc:sha256": sha256, "sc:license": license}
    return {"@type": "prov:Entity", **{key: value for key, value in stated.items() if value}}


def _not_validated(facts: ReleaseFacts) -> str:
    rule = facts.rule
    return "" if rule.validates else f" {rule.not_validated}"


def _responsibility(facts: ReleaseFacts, tally: Tally, machine_warnings: Sequence[str]) -> Node:
    """Return provenance and limits in the terms of RAI."""
    counts, statement, said = tally.counts(), facts.statement, MEANINGS["croissant"]
    rule = facts.rule
    measured = said["measured" if rule.selects else "measured_ratings"]
    decided = f": {counts['kept']:,} were kept, {counts['dropped']:,} dropped" if rule.selects else ""
    return {
        "rai:dataCollection": (
            f"The study had {counts['stories']:,} stories: {authors(tally, str)}. "
            f"{tally.complete:,} are complete{decided}. "
            f"{counts['annotators']:,} annotators gave {counts['votes']:,} "
            f"counted votes, including those on incomplete stories. {_people(facts)}"
        ),
        "rai:dataCollectionTimeFrame": [moment for moment in (tally.first_vote, tally.last_vote) if moment],
        "rai:dataCollectionMissingData": (
            f"{counts['incomplete']:,} stories were incomplete at the time of this release"
            f"{': without verdict. ' if rule.selects else '. '}"
            f"{rows.INCOMPLETE_PATH}. Their votes are in {rows.VOTES_PATH}."
        ),
        "rai:dataPreprocessingProtocol": [
            f"{'Filter' if rule.selects else 'Resolution'} {rule.name}: "
            f"{rule.sentence(facts.votes_per_story)}."
        ],
        "rai:dataAnnotationProtocol": [
            f"One form per story: {one_line(facts.protocol_title)} "
            f"(protocol {facts.protocol_name}, version {facts.protocol_version}).",
            *(
                f"{one.key}: {one_line(one.title)}" + (f" ({', '.join(one.options)})" if one.options else "")
                for one in facts.asked
            ),
        ],
        "rai:dataAnnotationPlatform": [
            f"tomannot {facts.code_version}",
            *_statement_item(statement.platform),
        ],
        "rai:annotationsPerItem": facts.votes_told,
        "rai:dataAnnotationAnalysis": [f"{measured} annotations/votes.jsonl has every single vote."],
        "rai:personalSensitiveInformation": [
            "Annotators appear under pseudonyms that are used in this study only.",
            *_statement_item(statement.sensitive_information),
        ],
        "rai:dataBiases": [
            *([f"{said['selected']}{_not_validated(facts)}"] if rule.selects else []),
            *machine_warnings,
            *_statement_item(statement.biases),
        ],
        "rai:dataLimitations": [
            f"{facts.votes_told} votes cannot show that a story is valid for everybody, and the "
            "annotators are not a sample of any population."
            if rule.selects
            else "The annotators are not a sample of any population.",
            *_statement_item(statement.limits),
        ],
        "rai:dataReleaseMaintenancePlan": (
            "A release never changes. Corrections and additions appear in the next release."
        ),
    }


def _people(facts: ReleaseFacts) -> str:
    people = facts.people
    if facts.imported:
        return (
            f"The votes were given in another study and imported from its release: {facts.imported.source}."
        )
    if facts.admitted_through:
        return f"Only people who had qualified in the study {facts.admitted_through} could take part."
    if people.attempted is None or people.passed is None:
        return NO_TEST
    return f"{people.attempted:,} people completed a qualification test, {people.passed:,} passed it."


def _statement_item(value: str) -> list[str]:
    return [one_line(value)] if value.strip() else []


def _file_object(file: FileFacts, *, selects: bool) -> Node:
    media_type = _FORMATS.get(Path(file.path).suffix) or content_type(file.path).partition(";")[0]
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": summary_of(file.path, selects=selects),
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": media_type,
        "sha256": file.sha256,
    }


# Record sets


def _record_set(path: str, columns: Mapping[str, Type], facts: ReleaseFacts) -> Node:
    """Return the record set of a file; its first column names a row, if any does."""
    name, results = name_of(path), per_item(facts.protocol_name, facts.asked)
    has_copy = path in copied(rows.layout_for(facts.protocol_name), results, also=[path])
    fields = _Fields(name, parquet_path(path) if has_copy else path, facts.asked)
    key = {} if path in WITHOUT_KEY else {"key": {"@id": f"{name}/{next(iter(columns))}"}}
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": summary_of(path, selects=facts.rule.selects),
        **key,
        "field": [field for column, kind in columns.items() if (field := fields.of_column(column, kind))],
    }


class _Fields:
    """The fields of one record set. Lists of lists, which Croissant cannot express, are left out."""

    def __init__(self, name: str, path: str, asked: Sequence[AskedQuestion]) -> None:
        self._name, self._path, self._asked = name, path, asked
        self._taken: set[str] = set()

    def of_column(self, column: str, kind: Type) -> Node | None:
        if is_text(kind):
            if self._path.endswith(".jsonl"):
                return None
            field = self._field((column,), "sc:Text", column)
            return field | {"description": f"{field['description']}, as JSON text"}
        struct = kind[0] if isinstance(kind, list) else kind
        if isinstance(struct, dict):
            sub_fields = list(self._leaves(column, (), struct))
            repeated = {"repeated": True} if isinstance(kind, list) else {}
            named = {"@type": "cr:Field", **self._named((column,))} if sub_fields else {}
            return named and {**named, "subField": sub_fields, **repeated}
        return self._leaf((column,), "sc:DateTime" if column.endswith("_at") else kind, column)

    def _leaves(self, column: str, keys: tuple[str, ...], struct: Mapping[str, Type]) -> Iterator[Node]:
        for key, kind in struct.items():
            if '"' in key or "\\" in key:  # cannot be written in a JSON path
                continue
            if isinstance(kind, dict):
                yield from self._leaves(column, (*keys, key), kind)
            elif leaf := self._leaf((column, *keys, key), kind, column):
                yield leaf

    def _leaf(self, names: tuple[str, ...], kind: Type, column: str) -> Node | None:
        repeated = isinstance(kind, list)
        element = kind[0] if isinstance(kind, list) else kind
        if not isinstance(element, str):
            return None
        field = self._field(names, _SCALARS.get(element, element), column)
        return field | ({"repeated": True} if repeated else {})

    def _field(self, names: tuple[str, ...], data_type: str, column: str) -> Node:
        source: Node = {"fileObject": {"@id": self._path}, "extract": {"column": column}}
        if names[1:]:
            keys = (key if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) else f'"{key}"' for key in names[1:])
            source["transform"] = {"jsonPath": ".".join(keys)}
        return {"@type": "cr:Field", **self._named(names), "dataType": data_type, "source": source}

    def _named(self, names: tuple[str, ...]) -> Node:
        """Return an unused id without characters that URLs lack."""
        plain = "/".join(re.sub(r"[^A-Za-z0-9_.-]", "_", name) for name in (self._name, *names))
        found = plain
        while found in self._taken:
            found += "_"
        self._taken.add(found)
        return {"@id": found, "name": found, "description": meaning_of("/".join(names), self._asked)}
