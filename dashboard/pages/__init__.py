"""The researchers' pages, one module per page or per few that belong together."""
