"""How well people answer the questions of a release: a sample drawn from it, and their accuracy.

``sampling`` chooses stories (pure), ``drawing`` reads their questions from a published release,
``accuracy`` computes (pure), ``results`` reads the answers of a study. See docs/baseline.md.
"""
