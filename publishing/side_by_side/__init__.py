"""Two releases of one study side by side: which stories differ, and by which votes.

``walking`` reads two directories at once (pure), ``making`` writes what it found down for good,
``keeping`` finds it again and has a worker make it. See docs/adr/0024.
"""
