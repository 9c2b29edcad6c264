"""Human baselines: a sample of a release's questions, and people's accuracy on them.

``drawing`` chooses stories and reads their questions, ``study_results`` reads a study's answers. See
docs/baseline.md.
"""
