"""The pages under “Overview”."""
