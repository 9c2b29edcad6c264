"""Comparison of two releases: ``diff`` reads them, ``build`` writes, ``store`` finds (docs/adr/0024)."""
