"""Every invariant (docs/operators.md lists them) as a check of the stored rows."""
