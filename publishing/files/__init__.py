"""The files of a release: their rows, their bytes, and the directory that holds them. No database."""
