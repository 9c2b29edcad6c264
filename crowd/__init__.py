"""A simulated crowd over real HTTP, drawn from a seed, for demo and tests (``manage.py simulate --help``)."""
