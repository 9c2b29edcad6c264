"""Queries about participants: mail recipients, completion codes, visits, unpaid work."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from accounts.models import Annotator, PlatformIdentity
from annotation import queries as annotation_queries
from annotation.models import Enrollment, Event, Study, WorkSession
from recruitment.arrival_rules import Arrival
from recruitment.codes import CompletionOutcome, completion_code, find_code, outcome_of
from recruitment.join_links import filled_in, participant_of, person_of, screen_out_address
from recruitment.models import Campaign, Grant, JoinLink, LinkPayment, Payment, Submission, Visit
from recruitment.visit_endings import may_go_on, why_ended
from tomannot.cache import local as cache

EMAIL = PlatformIdentity.Platform.EMAIL
LINK = PlatformIdentity.Platform.LINK
LEAST_KEY = "stories-to-complete-%s"
"""Cache key, by the study. A changed join link deletes it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A code that a person takes back to the platform, and the address there if it is known."""

    code: str
    return_url: str | None
    outcome: CompletionOutcome
    """The outcome that the code reports."""
    least_stories: int
    """Fewest stories that complete the study."""
    is_awaited: bool
    """True if the person came from the platform, which asks for the code."""


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """A code's owner. ``still_true``: it fits the outcome of the person's part now.

    ``is_theirs`` says whether it belongs to the participant who was asked about; None if none was.
    """

    enrollment: Enrollment
    outcome: CompletionOutcome
    still_true: bool
    is_theirs: bool | None

    @property
    def why_ended(self) -> str:
        """Return why the person's work is partial, in words; empty if it is not, or not any more."""
        is_partial = self.still_true and self.outcome == CompletionOutcome.PARTIAL
        return str(why_ended(self.enrollment).label) if is_partial else ""


def platform_id_of(work: Submission | Visit | Grant) -> str:
    """Return the platform's id of the person; empty if their personal data are deleted."""
    found = PlatformIdentity.objects.filter(
        annotator=work.annotator_id, platform=work.platform, environment=work.environment
    )
    return found.values_list("person", flat=True).first() or ""


def paid_outside(study: Study, only: Iterable[int] | None = None) -> dict[int, Decimal]:
    """Return what people who came by no campaign were paid, by enrollment, in the study's currency."""
    paid = LinkPayment.objects.filter(enrollment__study=study, currency=study.currency)
    if only is not None:
        paid = paid.filter(enrollment__in=only)
    return dict(paid.order_by().values_list("enrollment").annotate(sum=Sum("amount")))


def address_of(enrollment: Enrollment) -> PlatformIdentity | None:
    """Return the address that the person gave last, confirmed or not."""
    return _addresses_of(enrollment).order_by("-pk").first()


def confirmed_address_of(enrollment: Enrollment) -> PlatformIdentity | None:
    """Return the address to which the person's links are sent now."""
    return _addresses_of(enrollment).filter(confirmed_at__isnull=False).first()


def _addresses_of(enrollment: Enrollment) -> QuerySet[PlatformIdentity]:
    return PlatformIdentity.objects.filter(
        annotator=enrollment.annotator_id, platform=EMAIL, environment=enrollment.environment
    )


def came_by(link: JoinLink, participant: str = "") -> QuerySet[Enrollment]:
    """Return the enrollments of people whose ids are from this link's source, or of one participant."""
    lookup = "exact" if participant else "startswith"
    return Enrollment.objects.filter(
        study=link.study_id,
        annotator__identities__platform=LINK,
        annotator__identities__environment=F("environment"),
        **{f"annotator__identities__person__{lookup}": person_of(link.source, participant)},
    )


def completion_of(enrollment: Enrollment) -> Completion | None:
    """Return the person's code and way back; None without a join link, or while nothing is due to them."""
    link = JoinLink.objects.filter(study=enrollment.study_id).first()
    if link is None:
        return None
    outcome = _outcome_of(enrollment, link)
    if outcome is CompletionOutcome.NO_WORK:  # and no step to take, and they have not ended it themselves
        has_agreed = enrollment.state in (Enrollment.State.CONSENTED, Enrollment.State.QUALIFIED)
        if not has_agreed or annotation_queries.is_in_test(enrollment) or may_go_on(enrollment):
            return None
    code = completion_code(enrollment.study.pseudonym_key, enrollment.pk, outcome)
    address = link.return_url if outcome is CompletionOutcome.COMPLETED else screen_out_address(link)
    participant = _participant(enrollment, link.source)
    back = filled_in(address, code=code, participant=participant)
    return Completion(code, back, outcome, link.least_stories or 1, participant is not None)


def stories_to_complete(study_id: int) -> int:
    """Return how many stories complete the study by its join link; 0 without one. Cached: each story asks."""

    def least() -> int:
        links = JoinLink.objects.filter(study=study_id).values_list(Coalesce("least_stories", 1), flat=True)
        return links.first() or 0

    return cache.get_or_set(LEAST_KEY % study_id, least, 60) or 0


def _outcome_of(enrollment: Enrollment, link: JoinLink | None) -> CompletionOutcome:
    stories, least = enrollment.stories_submitted, link.least_stories if link else None
    return outcome_of(stories, least=least, tested=bool(stories) or has_tested(enrollment))


def leave_address_of(enrollment: Enrollment) -> str | None:
    """Return the way back without a code, "" if it cannot be known; None in a study without a join link."""
    link = JoinLink.objects.filter(study=enrollment.study_id).first()
    return leave_address_by(link, participant=_participant(enrollment, link.source)) if link else None


def leave_address_by(link: JoinLink, *, participant: str | None) -> str:
    """Return the way back without a code of a person who came by this link; "" if it cannot be known."""
    return filled_in(link.leave_url, code="", participant=participant) or ""


def is_past_test(state: str, gate: str) -> bool:
    """Return True if an enrollment in this state has been through the test of a study with this gate."""
    is_qualified = state == Enrollment.State.QUALIFIED and gate != Study.Gate.NOT_REQUIRED
    return is_qualified or state == Enrollment.State.FAILED


def has_tested(enrollment: Enrollment) -> bool:
    """Return True if the person has done a whole test, whatever has become of them since."""
    is_past = is_past_test(enrollment.state, enrollment.study.gate)
    return is_past or enrollment.events.filter(type=Event.Type.ATTEMPT_SUBMITTED).exists()


def check_code(study: Study, text: str, *, participant: str) -> CheckedCode | None:
    """Return the owner of a code in the study, or None. ``participant``: the sender's id, or empty."""
    ids = Enrollment.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    found = find_code(study.pseudonym_key, ids.iterator(), text)
    if found is None:
        return None
    enrollment = Enrollment.objects.select_related("study").get(pk=found[0])
    return CheckedCode(
        enrollment=enrollment,
        outcome=found[1],
        still_true=found[1] == _outcome_of(enrollment, JoinLink.objects.filter(study=study).first()),
        is_theirs=participant.strip() in _participants(enrollment) if participant.strip() else None,
    )


def _participants(enrollment: Enrollment, beginning: str = "") -> list[str]:
    """Return the person's ids on platforms of join links, of one source if ``beginning`` names it."""
    persons = PlatformIdentity.objects.filter(
        annotator=enrollment.annotator_id,
        platform=LINK,
        environment=enrollment.environment,
        person__startswith=beginning,
    )
    return [participant_of(person) for person in persons.values_list("person", flat=True)]


def _participant(enrollment: Enrollment, source: str) -> str | None:
    return next(iter(_participants(enrollment, person_of(source, ""))), None)


def is_known_visit(campaign: Campaign, arrival: Arrival) -> bool:
    """Return True if this id has opened this submission before."""
    identities = PlatformIdentity.objects.filter(
        platform=campaign.platform, environment=campaign.environment, person=arrival.person
    )
    return Visit.objects.filter(
        platform=campaign.platform,
        environment=campaign.environment,
        remote_id=arrival.remote_id,
        enrollment__annotator__in=identities.values("annotator"),
    ).exists()


def visit_of(session: WorkSession | None) -> Visit | None:
    """Return the visit whose work session this is, if any, with all that its pages need."""
    needed = ("campaign__study", "session", "enrollment__study", "enrollment__consent", "submission")
    return Visit.objects.select_related(*needed).filter(session=session).first() if session else None


def unpaid_of(annotator: Annotator) -> list[tuple[Campaign, int, Decimal]]:
    """Return what a person is still owed: each campaign with the number and sum of its payments.

    That is payments on their way, undecided work, and work that people were sent to hand in and that the
    platform has not mentioned yet.
    """
    payments = Payment.objects.unsettled().filter(submission__annotator=annotator)
    payments = payments.exclude(kind=Payment.Kind.REJECTION)
    decisions = Payment.objects.deciding().about(OuterRef("pk")).exclude(state=Payment.State.FAILED)
    undecided = Submission.objects.filter(
        ~Exists(decisions), annotator=annotator, status=Submission.Status.SUBMITTED
    )
    unlisted = Visit.objects.filter(
        Q(submission=None) | Q(submission__status=Submission.Status.ACTIVE),
        enrollment__annotator=annotator,
        handed_in_at__isnull=False,
        session__state=WorkSession.State.OPEN,
    )
    found: dict[Campaign, list[Decimal]] = {}
    for payment in payments.select_related("submission__campaign__study"):
        found.setdefault(payment.submission.campaign, []).append(payment.amount)
    owed: list[Submission | Visit] = [*undecided.select_related("campaign__study")]
    for work in [*owed, *unlisted.select_related("campaign__study")]:
        assert work.campaign is not None  # only visits for one have a session
        found.setdefault(work.campaign, []).append(work.campaign.reward)
    return [(campaign, len(amounts), sum(amounts, Decimal(0))) for campaign, amounts in found.items()]
