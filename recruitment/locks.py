"""PostgreSQL locks that die with their session: one worker per campaign and kind of work.

They are held by the connection, not by a transaction, so they hold for however long a platform takes, and
the database lets go of them when the worker is killed.
"""

PUBLISH = 0x746F6D65
"""The first half of the lock's key ("tome"); the second is the campaign's id."""
RECONCILE = 0x746F6D66
"""The first half of the lock's key ("tomf"); the second is the campaign's id."""
SEND = 0x746F6D67
"""The first half of the lock's key ("tomg"); the second is the campaign's id."""
