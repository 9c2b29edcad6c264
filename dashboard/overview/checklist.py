"""The checklist before a study opens, each step with the page that completes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core.cache import caches
from django.core.mail import get_connection
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.errors import DomainError
from accounts.models import Environment
from accounts.rate_limits import hops_of
from annotation.actions.studies import lacks_checks
from annotation.design import fills_exactly
from annotation.models import Story, Study
from annotation.strata import fill_of_strata
from dashboard.people.listing import given_to_nobody
from dashboard.quality.hidden_checks import too_few_checks
from dashboard.releases.human_baseline import newest_consent
from dashboard.settings.sample_study import sample_consent

UNREAD = ("@localhost", "@example.org", "@example.com")
"""Domains of placeholder addresses: nobody reads mail sent there."""
MAIL_TRIED_EVERY = timedelta(minutes=5)
MAIL_SECONDS = 5
"""Seconds to wait for the mail server while a page is rendered."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the checklist: its state and its label. ``_checklist.html`` links to what completes it."""

    code: str
    done: bool
    text: str
    blocks: bool = True

    @property
    def is_missing(self) -> bool:
        """True if the study cannot open without this step."""
        return self.blocks and not self.done


class GapsNotAccepted(DomainError):
    """A real study is to open with ``gaps`` that nobody has accepted."""

    def __init__(self, gaps: Sequence[Step]) -> None:
        self.gaps = list(gaps)
        super().__init__(" ".join([_("The study can’t open yet."), *(f"{step.text}." for step in gaps)]))


def check_opening(study: Study, accepted: Sequence[str]) -> list[Step]:
    """Return the gaps with which a study opens. Raise :class:`GapsNotAccepted` for any other.

    ``accepted``: codes of the gaps that are accepted; a gap that blocks never is. Only the first opening of a
    real study is checked here; what every opening needs is checked by ``open_study``.
    """
    if study.state != Study.State.DRAFT or study.environment == Environment.REHEARSAL:
        return []
    gaps = [step for step in _of_real_studies(study) if not step.done]
    refused = [step for step in gaps if step.blocks or step.code not in accepted]
    if refused:
        raise GapsNotAccepted(refused)
    return gaps


def checklist(study: Study) -> list[Step]:
    """Return the steps that a study needs, and those that a real one should have; constant in its size."""
    has_stories = Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].exists()
    test = {
        Study.Gate.NOT_REQUIRED: _("No test is required"),
        Study.Gate.MISSING: _("A test with an answer key, or the decision to have no test"),
    }.get(Study.Gate(study.gate), _("A test with an answer key"))
    given = _("Every story given to a participant; not given yet: %s")
    return [
        Step("consent", study.consent_version > 0, _("A consent text")),
        Step("test", study.gate != Study.Gate.MISSING, test),
        Step("stories", has_stories, _("Stories to judge")),
        *_checks(study),
        *([Step("given", False, given % left, blocks=False)] if (left := given_to_nobody(study)) else []),
        *([] if study.environment == Environment.REHEARSAL else _of_real_studies(study)),
    ]


def _of_real_studies(study: Study) -> list[Step]:
    """Return the steps that only a real study needs: a test run has no participants."""
    before, _contact, after = sample_consent().partition("{contact}")
    text, failure = newest_consent(study), mail_failure()
    is_example = text.startswith(before) and text.endswith(after)
    consent = _("A consent text of your own")
    if is_example:
        consent = _("A consent text of your own: it is still our example")
    to_files = settings.EMAIL_BACKEND == "django.core.mail.backends.filebased.EmailBackend"
    mail = _("Mails are written to files; none is sent") if to_files else _("This site sends mail")
    mail = _("This site cannot send mail: %s") % failure if failure else mail
    is_read = not study.contact.endswith(UNREAD)
    contact = _("Participants can write to %(contact)s")
    if not is_read:
        contact = _("A contact address that somebody reads: nobody reads %(contact)s")
    said = {"rate": study.pay_rate, "currency": study.currency}
    pay = (
        _("Pay of %(rate)s %(currency)s an hour") if study.pay_rate else _("Pay: participants read “unpaid”")
    )
    return [
        Step("contact", is_read, contact % {"contact": study.contact}),
        Step("consent_edited", not is_example, consent, blocks=False),
        Step("pay", bool(study.pay_rate), pay % said, blocks=False),
        *_design(study),
        Step("mail", not (failure or to_files), mail, blocks=False),
    ]


def _design(study: Study) -> list[Step]:
    strata = [each for each in fill_of_strata(study) if each.load]
    if fills_exactly([each.participants for each in strata]):
        return []
    each = ", ".join(f"{each.name}: {each.participants.normalize():.4g}" for each in strata)
    text = _("A design that divides evenly. Its strata need different numbers of participants: %s") % each
    return [Step("design", False, text, blocks=False)]


def proxies_step(request: HttpRequest) -> list[Step]:
    """Return a step if ``PROXIES`` does not fit the proxies that this request came through."""
    hops = len(hops_of(request))
    if hops == settings.PROXIES:
        return []
    text = _(
        "PROXIES is %(set)s, but your request came through %(hops)s proxies, so limits hold for the wrong "
        "clients (see Limits in the operators’ guide)"
    )
    return [Step("proxies", False, text % {"set": settings.PROXIES, "hops": hops}, blocks=False)]


def mail_failure() -> str:
    """Return why this site cannot send mail; empty if it can. Cached for :data:`MAIL_TRIED_EVERY`."""
    if not settings.SENDS_MAIL:
        return _("this site is set up without mail (EMAIL_URL), so it cannot send links")
    return str(caches["shared"].get_or_set("mail-failure", _try_mail, MAIL_TRIED_EVERY.total_seconds()))


def _try_mail() -> str:
    try:
        with get_connection(timeout=MAIL_SECONDS):
            return ""
    except OSError as error:
        return str(error) or type(error).__name__


def _checks(study: Study) -> list[Step]:
    if not study.check_every:
        return []
    text = _("Hidden checks with known answers, one in each %(every)s stories") % {"every": study.check_every}
    few = too_few_checks(study)
    text += f". {few}" if few else ""
    return [Step("checks", not lacks_checks(study), text)]
