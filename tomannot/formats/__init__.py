"""Date and time formats that differ from Django's (``FORMAT_MODULE_PATH``)."""

DAY = "Y-m-d"
"""Such as ``2026-11-22``: sorts as it reads, and means the same in every country."""
MOMENT = "Y-m-d H:i e"
"""Such as ``2026-11-22 08:01 UTC``: without the zone, people misread deadlines."""
