"""A study of any size as after months of work, for measuring the researchers' pages.

:mod:`bench.filled.beginning` creates a few rows of every kind through the product's actions.
:mod:`bench.filled.filling` multiplies them with the SQL files in this directory.
"""
