"""The files of a release: their rows, their bytes, and their directory. No database."""
