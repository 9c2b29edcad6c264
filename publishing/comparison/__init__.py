"""Comparison of two releases of a study: which stories differ, and through which votes.

``diff`` reads two directories in parallel (pure), ``build`` writes the differences to disk for good,
``store`` finds them or has a worker build them. See docs/adr/0024.
"""
