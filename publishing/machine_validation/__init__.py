"""Machine validation: how far rules and a shallow learner guess the answers. It warns, and stops nothing."""

from publishing.machine_validation.report import Validation, validate
