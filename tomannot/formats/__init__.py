"""The formats of dates and times, where Django's own are not ours (``FORMAT_MODULE_PATH``)."""

MOMENT = "Y-m-d H:i e"
"""Such as ``2026-11-22 08:01 UTC``: deadlines are read wrong where the zone is missing."""
