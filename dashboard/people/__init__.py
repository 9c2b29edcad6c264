"""Inviting colleagues into a study: what is written to them, and by which link they come in."""
