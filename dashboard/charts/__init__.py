"""Charts as plain values: a title, what it shows in a sentence, a table, and a Vega-Lite specification.

Everything but :mod:`~dashboard.charts.catalogue` is pure and knows nothing of databases; the catalogue says
which figures of a study each chart is made from. Pages show the table, files hold it, and
``static/tomannot/charts.js`` draws the specification: three forms of the same rows.
"""
