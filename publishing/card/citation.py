"""The citation of a release: BibTeX, CITATION.cff (CFF 1.2.0), and text. Pure."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml

from publishing.card.markdown import one_line
from publishing.facts import ReleaseFacts
from publishing.filters import get_filter

CITATION_PATH = "CITATION.cff"
TEST_RUN = "TEST RUN: "
NOT_VALIDATED = " (not validated by all)"
NOT_TO_CITE = "This is a test run: the votes are not human judgements. Do not cite or use it."
REHEARSAL_WARNING = (
    "> **THIS IS A TEST RUN. THESE ARE NOT HUMAN JUDGEMENTS.** The votes come from tests or simulated "
    "people. Nothing in this directory is evidence about the stories. Do not cite it, and do not train or "
    "evaluate on it."
)

SPDX = (
    "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0",
    "CC-BY-NC-ND-4.0", "CC-BY-3.0", "CC-BY-SA-3.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "MIT",
    "Apache-2.0", "BSD-3-Clause", "GPL-3.0-only", "GPL-3.0-or-later",
)  # fmt: skip
"""Licences in the schema of CFF 1.2.0. Others are named in the card only."""

DOI = re.compile(r"10\.[0-9]{4,9}(\.[0-9]+)?/[A-Za-z0-9:/_;\-.()\[\]]+")
"""A DOI by the schema of CFF 1.2.0, without backslashes. Use ``fullmatch``."""
WEB_ADDRESS = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+")
"""An ASCII address without quotes, braces or brackets, which could end its field."""

_BIBTEX = {ord(sign): f"\\{sign}" for sign in "&%$#_"} | dict.fromkeys(map(ord, '\\{}`~^"'), " ")


@dataclass(frozen=True, slots=True)
class Citation:
    """The data of a citation. ``creators`` are (family, given) for people and (name, "") for groups."""

    slug: str
    number: int
    title: str
    released: date
    creators: tuple[tuple[str, str], ...]
    doi: str = ""
    url: str = ""

    def bibtex(self) -> str:
        """Return a BibTeX entry. Characters special to LaTeX are escaped or left out."""
        fields = {
            "author": " and ".join(_bibtex_name(*name) for name in self.creators),
            "title": f"{{{_bibtex(self.title)}}}",
            "year": str(self.released.year),
            "doi": self.doi,
            "url": self.url,
            "note": f"Dataset, study {_bibtex(self.slug)}, release {self.number}",
        }
        written = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        return ",\n".join([f"@misc{{{self.slug}-{self.number}", *written]) + "\n}"

    def apa(self) -> str:
        """Return a reference in the style of APA 7."""
        names = [
            ", ".join(filter(None, (family, " ".join(f"{one[0].upper()}." for one in given.split()))))
            for family, given in self.creators
        ]
        authors = f"{', '.join(names[:-1])}, & {names[-1]}" if len(names) > 1 else "".join(names)
        stop = "" if authors.endswith(".") else "."
        place = f"https://doi.org/{self.doi}" if self.doi else self.url
        dated = f"({self.released.year}). {self.title} (Release {self.number}) [Data set]."
        return f"{authors}{stop} {dated} {place}".strip()


def citation(facts: ReleaseFacts) -> Citation:
    """Return the citation of this release. Without named creators, the study is cited."""
    statement = facts.statement
    title = marked(one_line(facts.title) or facts.slug, facts.filter_name)
    named = tuple(split_name(creator) for creator in statement.creators if one_line(creator))
    return Citation(
        slug=facts.slug,
        number=facts.number,
        title=f"{TEST_RUN}{title}" if facts.is_rehearsal else title,
        released=facts.created.date(),
        creators=named or ((f"The study {facts.slug}", ""),),
        doi=statement.doi if DOI.fullmatch(statement.doi) else "",
        url=statement.url if WEB_ADDRESS.fullmatch(statement.url) else "",
    )


def marked(title: str, filter_name: str) -> str:
    """Return the title, with a mark if the filter keeps stories that somebody objected to."""
    is_plain = get_filter(filter_name).validates or title.endswith(NOT_VALIDATED)
    return title if is_plain else f"{title}{NOT_VALIDATED}"


def split_name(creator: str) -> tuple[str, str]:
    """Split ``Family, Given`` into its parts; a name without a comma is a group: ``(name, "")``."""
    family, _, given = one_line(creator).partition(",")
    return (family.strip(), given.strip()) if family.strip() and given.strip() else (one_line(creator), "")


def citation_cff(facts: ReleaseFacts) -> bytes:
    cited = citation(facts)
    document: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": NOT_TO_CITE if facts.is_rehearsal else "If you use this dataset, please cite it as below.",
        "type": "dataset",
        "title": cited.title,
        "version": str(cited.number),
        "date-released": cited.released.isoformat(),
        "authors": [
            {"family-names": family, "given-names": given} if given else {"name": family}
            for family, given in cited.creators
        ],
    }
    optional = {
        "license": facts.license if facts.license in SPDX else "",
        "doi": cited.doi,
        "url": cited.url,
        "abstract": one_line(facts.description),
    }
    document |= {name: value for name, value in optional.items() if value}
    dumped: str = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=110)
    return dumped.encode()


def read_citation(cff: bytes, *, slug: str) -> Citation:
    document = yaml.safe_load(cff)
    return Citation(
        slug=slug,
        number=int(document["version"]),
        title=document["title"],
        released=date.fromisoformat(document["date-released"]),
        creators=tuple(
            (author.get("family-names") or author["name"], author.get("given-names", ""))
            for author in document["authors"]
        ),
        doi=document.get("doi", ""),
        url=document.get("url", ""),
    )


def _bibtex(value: str) -> str:
    return one_line(value.translate(_BIBTEX))


def _bibtex_name(family: str, given: str) -> str:
    """Return a name; braces keep BibTeX from splitting a group's name, or a name with "and" in it."""
    if given and not re.search(r"\band\b", f"{family} {given}", re.IGNORECASE):
        return f"{_bibtex(family)}, {_bibtex(given)}"
    return f"{{{_bibtex(f'{family}, {given}' if given else family)}}}"
