"""The statistics of a release: agreement between votes, how sure it is, and what was kept. Pure."""
