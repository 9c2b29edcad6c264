"""Amazon Mechanical Turk, as it was documented until it closed on 2026-09-30."""
