"""Commands for operators: diagnose the installation, back it up, restore it. Also its metrics."""
