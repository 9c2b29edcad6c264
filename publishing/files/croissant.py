"""``croissant.json``: what the release is, where its rows are and what they mean, for machines. Pure.

Croissant 1.1 (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html) with the vocabulary for
responsible AI, RAI 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html). What nobody
has said is left out.

The records are read from the Parquet copies: from JSON Lines, ``mlcroissant`` takes an id such as
``0012`` for a number. Only the dropped stories, which have no copy, are read from their JSON Lines file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from publishing.card.citing import citation
from publishing.facts import ReleaseFacts, Tally
from publishing.files import jsonl
from publishing.files.directory import FileFacts
from publishing.files.features import UNKNOWN, Type
from publishing.files.parquet import is_text
from publishing.filters import get_filter

CROISSANT_PATH = "croissant.json"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")

Node = dict[str, Any]

CONTEXT: Node = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the format prescribes; ``mlcroissant`` warns when a name is missing."""

_SCALARS = {
    "string": "sc:Text",
    UNKNOWN: "sc:Text",
    "bool": "sc:Boolean",
    "int64": "sc:Integer",
    "float64": "sc:Float",
}
_FORMATS = {
    ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet",
    ".json": "application/json",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
    ".cff": "application/yaml",
}


@dataclass(frozen=True, slots=True)
class Records:
    """One kind of rows: where they are and what columns they have.

    ``moments`` names the columns of text that are points in time.
    """

    name: str
    description: str
    path: str
    columns: Mapping[str, Type]
    key: str = ""
    moments: frozenset[str] = frozenset()


def document(
    facts: ReleaseFacts,
    tally: Tally,
    records: Sequence[Records],
    files: Sequence[FileFacts],
    machine_warnings: Sequence[str] = (),
) -> Node:
    """The content of ``croissant.json``. ``files`` are those of the release that are written by now."""
    cited, said = citation(facts), facts.statement
    doi = f"https://doi.org/{cited.doi}" if cited.doi else ""
    described = {
        "name": _line(facts.title),
        "description": _description(facts),
        "conformsTo": list(CONFORMS_TO),
        "license": facts.license,
        "url": cited.url or doi,
        "sameAs": doi if cited.url else "",
        "version": f"{facts.number}.0.0",
        "datePublished": facts.created.date().isoformat(),
        "creator": [_creator(*names) for names in cited.creators],
        "inLanguage": "en",
        "citeAs": cited.bibtex(),
        **_responsibility(facts, tally, machine_warnings),
        "rai:dataUseCases": _said(said.intended_use),
        "rai:annotatorDemographics": _said(said.demographics),
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        **{name: value for name, value in described.items() if value},
        "isLiveDataset": False,
        "distribution": [_file_object(file) for file in sorted(files, key=lambda file: file.path)],
        "recordSet": [_record_set(one) for one in records],
    }


def _description(facts: ReleaseFacts) -> str:
    rehearsal = "A REHEARSAL: the votes are not human judgements. " if facts.is_rehearsal else ""
    said = _line(facts.description) or _line(facts.title)
    return f"{rehearsal}{said} Release {facts.number} of the study {facts.slug}.{_not_validated(facts)}"


def _not_validated(facts: ReleaseFacts) -> str:
    rule = get_filter(facts.filter_name)
    return "" if rule.validates else f" {rule.not_validated}"


def _creator(family: str, given: str) -> Node:
    if not given:
        return {"@type": "sc:Organization", "name": family}
    return {"@type": "sc:Person", "name": f"{given} {family}", "givenName": given, "familyName": family}


def _responsibility(facts: ReleaseFacts, tally: Tally, machine_warnings: Sequence[str]) -> Node:
    """How the data came about and what to mind, in the terms of RAI."""
    counts, said = tally.counts(), facts.statement
    rule = get_filter(facts.filter_name)
    return {
        "rai:dataCollection": (
            f"{counts['kept'] + counts['dropped']:,} of {counts['stories']:,} stories, written by the models "
            f"named in story_generator_model, have all their votes: {counts['kept']:,} were kept, "
            f"{counts['dropped']:,} dropped. {counts['annotators']:,} people gave {counts['votes']:,} "
            f"counted votes, those on stories that lack votes among them. {_people(facts)}"
        ),
        "rai:dataCollectionTimeFrame": [
            jsonl.timestamp(moment) for moment in (tally.first_vote, tally.last_vote) if moment is not None
        ],
        "rai:dataCollectionMissingData": (
            f"{counts['incomplete']:,} stories lacked votes at the time of this release. They are not "
            "released; the votes they had are in annotations/votes.jsonl."
        ),
        "rai:dataPreprocessingProtocol": [f"Filter {rule.name}: {rule.sentence(facts.votes_per_story)}."],
        "rai:dataAnnotationProtocol": [
            f"One form per story: {_line(facts.protocol_title)} "
            f"(protocol {facts.protocol_name}, version {facts.protocol_version}).",
            *(_question(question.key, question.title, question.options) for question in facts.asked),
        ],
        "rai:dataAnnotationPlatform": [f"tomannot {facts.code_version}", *_said(said.platform)],
        "rai:annotationsPerItem": str(facts.votes_per_story),
        "rai:dataAnnotationAnalysis": [
            "statistics.json has the agreement of the complete stories before the filter, per question: "
            "percent, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 with intervals. "
            "annotations/votes.jsonl has every single vote."
        ],
        "rai:personalSensitiveInformation": [
            "The people who voted appear under pseudonyms of this study only.",
            *_said(said.sensitive_information),
        ],
        "rai:dataBiases": [
            "The filter selects by the answers that count against a story, so the kept stories are not a "
            "sample of the generated ones; the kept share may differ between scenarios and generator models."
            f"{_not_validated(facts)}",
            *machine_warnings,
            *_said(said.biases),
        ],
        "rai:dataLimitations": [
            f"{facts.votes_per_story} votes cannot show that a story is valid for everybody, and those who "
            "voted are not a sample of any population.",
            *_said(said.limits),
        ],
        "rai:dataReleaseMaintenancePlan": (
            "A release never changes. Corrections and additions come as a release with the next number."
        ),
    }


def _people(facts: ReleaseFacts) -> str:
    people = facts.people
    if facts.imported:
        return (
            f"The votes were given in another study and imported from its release: {facts.imported.source}."
        )
    if facts.admitted_through:
        return f"Only people who were qualified in the study {facts.admitted_through} could take part."
    if people.attempted is None or people.passed is None:
        return "No qualification test was asked for."
    return f"{people.attempted:,} people completed a qualification test, {people.passed:,} passed it."


def _question(key: str, title: str, options: Sequence[str]) -> str:
    offered = f" ({', '.join(options)})" if options else ""
    return f"{key}: {_line(title)}{offered}"


def _line(value: str) -> str:
    return " ".join(value.split())


def _said(value: str) -> list[str]:
    return [_line(value)] if value.strip() else []


def _file_object(file: FileFacts) -> Node:
    suffix = re.search(r"\.[a-z]+$", file.path)
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": _FORMATS.get(suffix.group() if suffix else "", "application/octet-stream"),
        "sha256": file.sha256,
    }


# Record sets


def _record_set(records: Records) -> Node:
    fields = _Fields(records)
    found = [field for name, kind in records.columns.items() if (field := fields.of_column(name, kind))]
    key = {"key": {"@id": f"{records.name}/{records.key}"}} if records.key else {}
    return {
        "@type": "cr:RecordSet",
        "@id": records.name,
        "name": records.name,
        "description": records.description,
        **key,
        "field": found,
    }


class _Fields:
    """The fields of one record set. What Croissant cannot say (lists in lists) is left out."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._taken: set[str] = set()

    def of_column(self, column: str, kind: Type) -> Node | None:
        if is_text(kind):
            if self._records.path.endswith(".jsonl"):
                return None
            return self._field((column,), "sc:Text", column) | {"description": "The value as JSON text."}
        if isinstance(kind, dict):
            return self._struct(column, list(self._leaves(column, (), kind)))
        if isinstance(kind, list) and isinstance(kind[0], dict):
            struct = self._struct(column, list(self._leaves(column, (), kind[0])))
            return struct and struct | {"repeated": True}
        moment = column in self._records.moments
        return self._leaf((column,), "sc:DateTime" if moment else kind, column)

    def _struct(self, column: str, sub_fields: list[Node]) -> Node | None:
        if not sub_fields:
            return None
        return {"@type": "cr:Field", **self._named((column,)), "subField": sub_fields}

    def _leaves(self, column: str, keys: tuple[str, ...], struct: Mapping[str, Type]) -> Iterator[Node]:
        for key, kind in struct.items():
            if '"' in key or "\\" in key:  # cannot be written in a JSON path
                continue
            if isinstance(kind, dict):
                yield from self._leaves(column, (*keys, key), kind)
            elif leaf := self._leaf((column, *keys, key), kind, column):
                yield leaf

    def _leaf(self, names: tuple[str, ...], kind: Type, column: str) -> Node | None:
        """A field of one value, or of a list of them."""
        repeated = isinstance(kind, list)
        element = kind[0] if isinstance(kind, list) else kind
        if not isinstance(element, str):
            return None
        field = self._field(names, _SCALARS.get(element, element), column)
        return field | ({"repeated": True} if repeated else {})

    def _field(self, names: tuple[str, ...], data_type: str, column: str) -> Node:
        source: Node = {"fileObject": {"@id": self._records.path}, "extract": {"column": column}}
        if names[1:]:
            source["transform"] = {"jsonPath": ".".join(_json_path(name) for name in names[1:])}
        return {"@type": "cr:Field", **self._named(names), "dataType": data_type, "source": source}

    def _named(self, names: tuple[str, ...]) -> Node:
        """An id without characters that addresses lack, and not the same one twice."""
        plain = "/".join(re.sub(r"[^A-Za-z0-9_.-]", "_", name) for name in (self._records.name, *names))
        found = plain
        while found in self._taken:
            found += "_"
        self._taken.add(found)
        return {"@id": found, "name": found}


def _json_path(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) else f'"{key}"'
