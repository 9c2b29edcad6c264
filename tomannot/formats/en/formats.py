"""Date and time formats: the same in every language, and always with the time zone."""

from tomannot.formats import MOMENT

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = MOMENT
