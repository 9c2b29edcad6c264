"""Machine validation: how many answers can be guessed without understanding the stories.

Human validation is not enough: stories that everybody finds valid can have choices that give the answer away.
This package reads a finished release directory and measures how far rules and a shallow learner get. It
warns, but never stops a release.
"""

from publishing.machine_validation.report import validate
