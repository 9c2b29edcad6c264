"""Evaluating models on a release from its files alone: no database, no network.

``reading`` reads the release and refuses unsound answers, ``scores`` computes (pure),
``tables`` writes Markdown, LaTeX and the chart. See docs/releases.md.
"""
