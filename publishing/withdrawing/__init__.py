"""Withdrawing a published release: a mark beside it, with a reason, for good. See docs/adr/0024."""
