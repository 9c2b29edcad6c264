"""Statistics of a release: agreement, intervals, and what was kept. Pure."""
