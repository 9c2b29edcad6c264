"""Figures over all votes of a study: worked out by a worker in one stream, kept, and made again when due.

No page counts all votes in a request. What is pure (:mod:`~dashboard.figures.people`,
:mod:`~dashboard.figures.flags`, :mod:`~dashboard.figures.forecast`) knows nothing of databases;
:mod:`~dashboard.figures.kept` is what pages ask; :mod:`~dashboard.figures.work` is what the worker does.
"""
