"""What an e-mail address is, wherever one is typed in."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.forms import EmailField
from django.utils.translation import gettext as _

from recruitment.errors import InvalidAddress

_FIELD = EmailField(max_length=200)
"""As long as ``accounts.PlatformIdentity.person``."""


def read_address(text: str) -> str:
    """The address in this text, in small letters. Raises :class:`InvalidAddress`."""
    try:
        address: str = _FIELD.clean(text.strip())
    except ValidationError as error:
        raise InvalidAddress(_("“%(value)s” is not an e-mail address.") % {"value": text.strip()}) from error
    return address.lower()
