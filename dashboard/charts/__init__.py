"""Charts as plain values: a title, a sentence that describes it, a table, and a Vega-Lite specification.

All modules are pure, except :mod:`~dashboard.charts.catalogue`, which reads the study's figures for each
chart. Pages show the table, files contain it, and ``static/tomannot/charts.js`` draws the specification.
"""
