"""Comparing what a platform says with what is here, and what follows from it."""
