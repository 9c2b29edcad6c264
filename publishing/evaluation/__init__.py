"""Evaluating models on a release from its files alone: no database, no network.

``reading`` reads the release and refuses unsound answers, ``scores`` and ``annotator`` compute (pure),
``tables`` writes Markdown, LaTeX and the chart. See docs/releases.md.
"""
