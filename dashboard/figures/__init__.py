"""Figures over all votes of a study, computed by a worker in one stream and cached until they are outdated.

No request counts all votes. :mod:`~dashboard.figures.people`, :mod:`~dashboard.figures.flags` and
:mod:`~dashboard.figures.forecast` are pure; pages use :mod:`~dashboard.figures.store`, and the worker runs
:mod:`~dashboard.figures.compute`.
"""
