"""Machine validation: what can be had from a release's questions without understanding the stories.

Human validation is not enough: stories that everybody finds valid can still have choices that give
the answer away. This room reads a finished release directory and says how far rules and a shallow
learner get. It warns; it never stops a release.
"""

from __future__ import annotations

from publishing.machine_validation.report import document, hard_questions

__all__ = ["document", "hard_questions"]
