"""Texts that look like a person's platform id or e-mail address."""

import re

MAIL = "an e-mail address"
PATTERNS = {
    MAIL: (b"@", re.compile(rb"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")),
    "a Mechanical Turk worker id": (b"A", re.compile(rb"(?<![A-Za-z0-9])A[A-Z0-9]{12,14}(?![A-Za-z0-9])")),
    "a Prolific id": (b"", re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{24}(?![0-9A-Za-z])")),
}
"""Identifiers by kind: a byte that occurs in each, and the pattern."""
REMOVED = b"[removed]"


def without_identifiers(text: str) -> str:
    """Return an annotator's words with everything replaced that looks like an identifier, not any longer."""
    data = text.encode()
    for _, pattern in PATTERNS.values():
        data = pattern.sub(REMOVED, data)
    return data.decode()[: len(text)]
