"""Check the answers of people that a release may hold, and their accuracy."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from annotation.protocols.multiple_choice import QUESTION
from publishing.facts import AskedQuestion
from publishing.human_baseline.release_files import ACCURACY, VOTES, document
from publishing.verification import jsonl
from publishing.verification.description import Description, read_document
from publishing.verification.findings import Findings
from publishing.verification.schema import CHECK as SCHEMA, VoteReader
from publishing.verification.statistics import differences

CHECK = "baseline"


def check(
    directory: Path, description: Description, listed: Collection[str], findings: Findings
) -> dict[str, Any] | None:
    """Recompute the accuracy. Return the stated one, or None if there is no baseline or it is unsound."""
    if not {VOTES, ACCURACY} & set(listed):
        return None
    reader = VoteReader((AskedQuestion(QUESTION, ""),))
    for line in jsonl.read(directory, VOTES, findings):
        if isinstance(problem := reader.read(line.row), str):
            findings.add(SCHEMA, VOTES, problem, line.number)
    stated = read_document(directory, ACCURACY, findings)
    if stated is None or findings.of(SCHEMA):
        return None
    try:
        expected = document(directory, description.layout, stated["source"])
    except (KeyError, TypeError, ValueError) as error:
        findings.add(CHECK, VOTES, f"The accuracy cannot be recomputed: {str(error)[:300]}")
        return None
    found = list(differences(stated, expected))
    for problem in found:
        findings.add(CHECK, ACCURACY, problem)
    return None if found else stated
