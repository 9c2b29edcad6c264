"""Comparison of two releases of a study: which stories differ, and through which votes.

``changes`` reads two directories in parallel (pure), ``store`` writes the differences to disk for good, and
finds them or has a worker compute them. See docs/adr/0024.
"""
