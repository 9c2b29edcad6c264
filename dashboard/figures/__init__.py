"""Figures over all votes of a study, computed by a worker in one stream and cached: requests count none."""
