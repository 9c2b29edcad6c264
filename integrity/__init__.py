"""Every invariant as a check of the stored rows; ``manage.py check_integrity`` runs them all."""
