"""How moments are written: the same in every language, and never without their zone."""

from tomannot.formats import MOMENT

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = MOMENT
