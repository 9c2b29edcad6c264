"""Record payments made outside any platform, so that nobody is paid twice by the same table."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _, ngettext

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from annotation.rules import CENT
from recruitment.errors import CannotPay
from recruitment.models import LinkPayment
from recruitment.queries import paid_outside


@transaction.atomic
def record_link_payments(
    *,
    study: Study,
    amounts: Mapping[int, Decimal],
    seen: Mapping[int, Decimal] | None = None,
    reason: str,
    token: UUID,
    by: User,
    now: datetime,
) -> int:
    """Record external payments by enrollment, all or none. Return how many.

    ``token`` belongs to the form or file: using it again writes nothing and returns 0. ``seen`` has what each
    person had been paid when the amounts were read. Raise :class:`CannotPay` if there is no reason, if an
    amount has fractions of a cent or makes a total negative, or if somebody was paid since ``seen``.
    """
    if not reason.strip():
        raise CannotPay(_("Say how participants were paid. The log keeps it."))
    people = Enrollment.objects.select_for_update(of=("self",), no_key=True).filter(
        study=study, pk__in=amounts
    )
    locked = {person.pk: person for person in people.order_by("pk")}
    if LinkPayment.objects.filter(request_token=token).exists():
        return 0
    before = paid_outside(study, locked)
    _check(amounts, before, seen or {})
    entries = LinkPayment.objects.bulk_create(
        LinkPayment(
            enrollment=person,
            amount=amounts[pk],
            currency=study.currency,
            reason=reason.strip(),
            request_token=token,
            noted_by=by,
            noted_at=now,
        )
        for pk, person in locked.items()
    )
    rows = [
        (entry.enrollment, f"link payment {entry.pk} of {entry.amount} {entry.currency}", entry.reason)
        for entry in entries
    ]
    annotation_actions.record_events(study=study, type=Event.Type.PAYMENT_SENT, by=by, now=now, rows=rows)
    return len(entries)


def _check(
    amounts: Mapping[int, Decimal], before: Mapping[int, Decimal], seen: Mapping[int, Decimal]
) -> None:
    since = sum(before.get(pk, Decimal(0)) != known for pk, known in seen.items() if pk in amounts)
    if since:
        message = ngettext(
            "A payment to %(number)s participant was recorded after you downloaded this table. "
            "Download it again.",
            "Payments to %(number)s participants were recorded after you downloaded this table. "
            "Download it again.",
            since,
        ) % {"number": since}
        raise CannotPay(message)
    for pk, amount in amounts.items():
        if not amount or amount != amount.quantize(CENT):
            raise CannotPay(
                _("Enter the amount paid in whole cents; %(amount)s is not.") % {"amount": amount}
            )
        if before.get(pk, Decimal(0)) + amount < 0:
            raise CannotPay(
                _("A correction cannot exceed the amount recorded as paid. Nothing was recorded.")
            )
