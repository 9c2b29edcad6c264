"""Date and time formats: the same in every language, and always with the time zone."""

from tomannot.formats import DAY, MOMENT

DATE_FORMAT = SHORT_DATE_FORMAT = DAY
DATETIME_FORMAT = SHORT_DATETIME_FORMAT = MOMENT
