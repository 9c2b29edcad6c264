"""Outside places for published releases. No database."""
