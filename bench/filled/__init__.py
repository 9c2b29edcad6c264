"""A study as it is after months of work, of any size: what the researchers' pages are measured on.

:mod:`bench.filled.beginning` makes a few rows of every kind through the product's actions, so that they are
what the product writes. :mod:`bench.filled.filling` multiplies them set by set, in the SQL files beside it.
"""
