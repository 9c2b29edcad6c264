"""How a release is cited: BibTeX, a CITATION.cff file (CFF 1.2.0), and a line of text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml

from publishing.card.markdown import fenced, one_line, text
from publishing.facts import ReleaseFacts

CITATION_PATH = "CITATION.cff"

SPDX = (
    "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0",
    "CC-BY-NC-ND-4.0", "CC-BY-3.0", "CC-BY-SA-3.0", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "MIT",
    "Apache-2.0", "BSD-3-Clause", "GPL-3.0-only", "GPL-3.0-or-later",
)  # fmt: skip
"""Licences that the schema of CFF 1.2.0 knows. Another one is named in the card only."""

DOI = re.compile(r"10\.[0-9]{4,9}(\.[0-9]+)?/[A-Za-z0-9:/_;\-.()\[\]]+")
"""What the schema of CFF 1.2.0 takes for a DOI, without backslashes. To be matched as a whole."""
WEB_ADDRESS = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+")
"""An address in ASCII without quotes, braces or brackets that could end the field it stands in."""

_BIBTEX = {ord(sign): f"\\{sign}" for sign in "&%$#_"} | dict.fromkeys(map(ord, '\\{}`~^"'), " ")


@dataclass(frozen=True, slots=True)
class Citation:
    """What is cited. ``creators`` are (family, given) of people and (name, "") of groups."""

    slug: str
    number: int
    title: str
    released: date
    creators: tuple[tuple[str, str], ...]
    doi: str = ""
    url: str = ""

    def bibtex(self) -> str:
        """A BibTeX entry. Characters that LaTeX acts on are escaped, or left out."""
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
        """A reference as running text, in the manner of APA 7."""
        names = [f"{family}, {_initials(given)}" if given else family for family, given in self.creators]
        authors = f"{', '.join(names[:-1])}, & {names[-1]}" if len(names) > 1 else "".join(names)
        stop = "" if authors.endswith(".") else "."
        place = f"https://doi.org/{self.doi}" if self.doi else self.url
        dated = f"({self.released.year}). {self.title} (Release {self.number}) [Data set]."
        return f"{authors}{stop} {dated} {place}".strip()


def citation(facts: ReleaseFacts) -> Citation:
    """How this release is to be cited. A study without named creators stands for itself."""
    said = facts.statement
    named = tuple(split_name(creator) for creator in said.creators if one_line(creator))
    return Citation(
        slug=facts.slug,
        number=facts.number,
        title=one_line(facts.title) or facts.slug,
        released=facts.created.date(),
        creators=named or ((f"The study {facts.slug}", ""),),
        doi=said.doi if DOI.fullmatch(said.doi) else "",
        url=said.url if WEB_ADDRESS.fullmatch(said.url) else "",
    )


def split_name(creator: str) -> tuple[str, str]:
    """``(family, given)`` of ``Family, Given``; a name without a comma is one of a group: ``(name, "")``."""
    family, _, given = one_line(creator).partition(",")
    return (family.strip(), given.strip()) if family.strip() and given.strip() else (one_line(creator), "")


def citation_cff(facts: ReleaseFacts) -> bytes:
    """The CITATION.cff file of a release, valid for CFF 1.2.0."""
    cited = citation(facts)
    document: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it as below.",
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
    """The citation in a CITATION.cff that :func:`citation_cff` wrote."""
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


def rights(facts: ReleaseFacts) -> list[str]:
    """The sections on licence and citation."""
    cited = citation(facts)
    return [
        "## Licence",
        f"{text(facts.license)}.",
        "## Citation",
        fenced("bibtex", cited.bibtex()),
        f"As text: {text(cited.apa())} For reference managers: `{CITATION_PATH}`.",
        "The procedure follows that of Gu et al., SimpleToM: Exposing the Gap between Explicit ToM Inference "
        "and Implicit ToM Application in LLMs, appendix G."
        if facts.protocol_name == "validity"
        else "Please also name the study and the number of the release.",
    ]


def _bibtex(value: str) -> str:
    return one_line(value.translate(_BIBTEX))


def _bibtex_name(family: str, given: str) -> str:
    """Braces keep BibTeX from taking the name of a group, or the word "and" in a name, apart."""
    if given and not re.search(r"\band\b", f"{family} {given}", re.IGNORECASE):
        return f"{_bibtex(family)}, {_bibtex(given)}"
    return f"{{{_bibtex(f'{family}, {given}' if given else family)}}}"


def _initials(given: str) -> str:
    return " ".join(f"{name[0].upper()}." for name in given.split())
