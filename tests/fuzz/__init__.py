"""Whatever bytes come from outside are read, or refused by the reader's own error: nothing else happens.

A list of the readers is in docs/security.md. ``FUZZ=100 make test ARGS=tests/fuzz`` tries a hundred times as
much as usual. A fault that was found is an ``@example`` from then on.
"""
