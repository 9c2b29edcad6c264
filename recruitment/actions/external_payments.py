"""Record payments made outside any platform, so that nobody is paid twice by the same table."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

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
    """Record external payments by enrollment; return how many.

    ``token`` is that of the form or file: a second press writes nothing and returns 0. ``seen``: what they
    had been paid by then, as far as the one who pays knew. All or nothing: raises :class:`CannotPay` without
    a word about how, for amounts that are no whole cents or leave somebody with less than nothing, and where
    somebody has been noted as paid since ``seen``.
    """
    if not reason.strip():
        raise CannotPay(_("Say how people were paid. It is kept in the log."))
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
        raise CannotPay(
            ngettext(
                "%(number)s person has been noted as paid since this table was made: take it anew.",
                "%(number)s people have been noted as paid since this table was made: take it anew.",
                since,
            )
            % {"number": since}
        )
    for pk, amount in amounts.items():
        if not amount or amount != amount.quantize(CENT):
            raise CannotPay(
                _("What was paid is a number of whole cents, not %(amount)s.") % {"amount": amount}
            )
        if before.get(pk, Decimal(0)) + amount < 0:
            raise CannotPay(_("No more can be taken back than was noted as paid. Nothing was noted."))
