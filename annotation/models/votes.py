"""Assignments and votes.

A foreign key that a unique constraint begins with has no index of its own (``db_index=False``): the
constraint's index serves, and every index makes each vote more expensive.
"""

from datetime import datetime
from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Concat
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment
from accounts.schema import before, check, final, flag, optional, optional_number, refuse_if, unique
from annotation.models.enrollments import Enrollment
from annotation.models.stories import Story, Stratum
from annotation.models.studies import InstructionText, Study
from annotation.models.work_sessions import WorkSession
from annotation.protocols.questions import LONGEST_WORDS, Choice
from annotation.signs import MOST_EVENTS, MOST_SECONDS

_NO_SLOT = refuse_if(
    "NOT EXISTS (SELECT FROM annotation_story s WHERE s.id = NEW.story_id AND s.role = 'check')",
    "only a hidden check is given out without a slot",
)
_OTHER_LOAD = refuse_if(
    "NEW.load IS DISTINCT FROM (SELECT g.load FROM annotation_stratum g WHERE g.id = NEW.stratum_id)",
    "the load of an assignment is that of its stratum",
)


def seed_field(help_text: Any = "") -> "models.PositiveIntegerField[int | None, int | None]":
    """Return a field for a seed of ``annotation.ordering``; None if nothing was drawn."""
    return models.PositiveIntegerField(null=True, blank=True, help_text=help_text)


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def living(self) -> "AssignmentQuerySet":
        """Filter assignments that hold a slot: reserved, leased, or answered and counted or pending."""
        return self.filter(state__in=LIVING)

    def lease_ran_out(self, now: datetime) -> "AssignmentQuerySet":
        return self.filter(state__in=HELD, lease_expires_at__lte=now)


class Assignment(models.Model):
    """An annotator's right to vote on a story: a numbered slot with a lease.

    There is one row per annotator and story; its state says whether it holds the slot. In a study with a
    design it also holds one of the annotator's places in the item's stratum. One that was given by name waits
    for its annotator until they answer it, leave, or a researcher takes it back.
    """

    class State(models.TextChoices):
        RESERVED = "reserved", _("reserved")
        LEASED = "leased", _("leased")
        SUBMITTED = "submitted", _("answered, counted")
        SURPLUS = "surplus", _("answered, surplus")
        EXPIRED = "expired", _("lease ran out")
        EXCLUDED = "excluded", _("answered, excluded")
        DISPLACED = "displaced", _("answered, surplus: the slot was filled while it was excluded")
        PENDING = "pending", _("answered, counts once the platform confirms the visit")
        DOUBTED = "doubted", _("answered, not confirmed by the platform")
        SKIPPED = "skipped", _("skipped")

    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="assignments")
    enrollment = models.ForeignKey(
        Enrollment, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    session = optional(
        WorkSession,
        "assignments",
        db_index=False,
        help_text=_("The session in which the story was assigned, then answered."),
    )
    state = models.CharField(max_length=10, choices=State, default=State.LEASED)
    slot = optional_number(_("None for a hidden check, which anybody may answer."))
    slots = models.PositiveSmallIntegerField(
        help_text=_("Votes per story (at most) when this was assigned; 0 for a hidden check.")
    )
    stratum = optional(Stratum, db_index=False, help_text=_("Empty: given out without a design."))
    place = optional_number(_("Number among the annotator’s answers in this stratum."))
    load = optional_number(_("The stratum’s load when this was reserved."))
    given = flag(_("Given to the annotator by name, and not taken back."))
    order_position = models.PositiveIntegerField(
        help_text=_("The position of this story among the annotator's stories.")
    )
    order_seed = seed_field(_("Seed of the annotator’s own start in the serving order; empty: the study’s."))
    option_seed = seed_field(_("Seed of the order of the options; empty: the protocol’s order."))
    served_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField()

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            unique(
                "one_living_assignment_per_slot",
                ["story", "slot"],
                Q(state__in=["reserved", "leased", "submitted", "pending"]),
            ),
            unique("one_assignment_per_person_and_story", ["enrollment", "story"]),
            unique("one_lease_at_a_time_per_person", ["enrollment"], Q(state="leased")),
            check(
                "slot_is_one_of_the_storys_slots",
                Q(slot__gte=1, slot__lte=F("slots")) | Q(slot__isnull=True, slots=0),
            ),
            unique(
                "one_living_assignment_per_place_in_a_stratum",
                ["enrollment", "stratum", "place"],
                Q(stratum__isnull=False, state__in=["reserved", "leased", "submitted", "pending"]),
            ),
            check(
                "place_is_one_of_the_load",
                Q(stratum__isnull=False, load__isnull=False)
                & Q(place__isnull=False, place__gte=1, place__lte=F("load"))
                & Q(given=False)
                | Q(stratum=None, place=None, load=None) & (Q(given=True) | ~Q(state="reserved")),
            ),
            check("nothing_given_by_name_expires", Q(given=False) | ~Q(state="expired")),
        ]
        triggers = [
            before(
                "only_checks_are_given_out_without_slot",
                pgtrigger.Insert | pgtrigger.UpdateOf("slot", "story_id"),
                _NO_SLOT,
                condition=pgtrigger.Q(new__slot__isnull=True),
            ),
            before(
                "load_is_that_of_the_stratum",
                pgtrigger.Insert | pgtrigger.UpdateOf("load", "stratum_id"),
                _OTHER_LOAD,
                condition=pgtrigger.Q(new__stratum__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_expires_at"],
                name="leases_by_expiry",
                condition=Q(state__in=["leased", "reserved"]),
            ),
            models.Index(
                fields=["enrollment", "order_position"],
                name="reserved_in_order",
                condition=Q(state="reserved"),
            ),
            models.Index(
                fields=["session"], name="assignments_of_session", condition=Q(session__isnull=False)
            ),
            models.Index(fields=["enrollment"], name="answers_waiting", condition=Q(state="pending")),
        ]

    def __str__(self) -> str:
        return f"slot {self.slot} of {self.story_id}" if self.slot else f"story {self.story_id}"


HELD = (Assignment.State.RESERVED, Assignment.State.LEASED)
"""States that hold a slot for an answer still to come."""
LIVING = (*HELD, Assignment.State.SUBMITTED, Assignment.State.PENDING)
"""States that hold a slot."""
UNANSWERED = (*HELD, Assignment.State.EXPIRED, Assignment.State.SKIPPED)
"""States of an assignment without a vote. Excluded ones keep theirs, and may count again."""


class SurplusReason(models.TextChoices):
    """The reason why a vote is stored and credited but does not count."""

    NONE = "", _("counts")
    LATE = (
        "late",
        _("too late: the lease had expired and the slot was taken (or the participant’s set was full)"),
    )
    NOT_QUALIFIED = "not_qualified", _("the participant was no longer qualified when it arrived")


_COUNTS = Q(assignment__state=Assignment.State.SUBMITTED, surplus_reason=SurplusReason.NONE)


class VoteQuerySet(models.QuerySet["Vote"]):
    def newest(self) -> "VoteQuerySet":
        """Filter the newest revision of each vote."""
        newer = Vote.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
        return self.filter(~Exists(newer))

    def counted(self) -> "VoteQuerySet":
        """Filter the votes that the filter uses: the newest revision of each submitted assignment."""
        return self.newest().filter(_COUNTS, environment=F("assignment__story__study__environment"))

    def uncounted(self) -> "VoteQuerySet":
        """Filter the votes that do not count, or not yet: the first revision of each."""
        return self.filter(~_COUNTS, revision=1)

    def of_study(self, study: Study) -> "VoteQuerySet":
        return self.filter(assignment__story__study=study, assignment__story__role=Story.Role.MAIN)


class Vote(models.Model):
    """A submitted form with its context. Never edited, never deleted."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="votes", db_index=False)
    revision = models.PositiveSmallIntegerField(default=1)
    protocol_version = models.CharField(max_length=20)
    language = models.CharField(
        max_length=10, default="en", help_text=_("The language in which the form was shown.")
    )
    instructions = optional(
        InstructionText,
        db_index=False,
        help_text=_("The study’s own instructions that were shown; empty: the protocol’s."),
    )
    story_hash = models.CharField(max_length=64)
    order_position = models.PositiveIntegerField()
    order_seed = seed_field()
    option_seed = seed_field()
    served_at = models.DateTimeField()
    first_submitted_at = models.DateTimeField(
        help_text=_("When the person first answered; a changed answer keeps it.")
    )
    submitted_at = models.DateTimeField()
    environment = models.CharField(max_length=20, choices=Environment)
    surplus_reason = models.CharField(
        max_length=20, choices=SurplusReason, blank=True, default=SurplusReason.NONE
    )
    trusted_events = optional_number(_("Clicks and key presses that the browser reports as trusted."))
    untrusted_events = optional_number(_("Clicks and keys of a script. Empty: not known."))

    objects = VoteQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("one_vote_per_assignment_and_revision", ["assignment", "revision"]),
            check("vote_revisions_count_from_one", Q(revision__gte=1)),
            check(
                "vote_is_submitted_after_it_was_served",
                Q(first_submitted_at__gte=F("served_at")) & Q(submitted_at__gte=F("first_submitted_at")),
            ),
            check(
                "events_of_a_vote_are_both_known_or_neither",
                Q(trusted_events=None, untrusted_events=None)
                | Q(trusted_events__isnull=False, untrusted_events__isnull=False)
                & Q(trusted_events__range=(0, MOST_EVENTS), untrusted_events__range=(0, MOST_EVENTS)),
            ),
        ]
        triggers = [final("vote_is_final")]
        # For the votes since a moment (the export). They come in the order of their times, so it grows at its
        # end only: saving 60,000 votes took as long with it as without.
        indexes = [models.Index(fields=["submitted_at"], name="votes_by_time")]

    def __str__(self) -> str:
        return f"vote {self.pk}"

    @property
    def seconds_on_task(self) -> float:
        """Return the seconds from being served the story to first answering it. Changes add nothing."""
        return (self.first_submitted_at - self.served_at).total_seconds()

    @property
    def lacks_trusted_input(self) -> bool:
        """Return True if the browser reported its input, and none of it as a person's.

        Researchers may look at it; nothing may follow from it by itself (:mod:`annotation.signs`).
        """
        return self.trusted_events == 0


class ChosenOption(models.Model):
    """An option of one question, or of one row of it."""

    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    option = models.CharField(max_length=40)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.question}: {self.option}"

    @property
    def choice(self) -> Choice:
        """Return the question, row and option as a choice."""
        return Choice(self.question, self.row, self.option)


class Answer(ChosenOption):
    """One answer of a vote: the option chosen for a row of a question, or the words written there."""

    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="answers", db_index=False)
    option = models.CharField(max_length=40, blank=True)
    words = models.CharField(
        max_length=LONGEST_WORDS,
        blank=True,
        default="",
        db_default="",
        help_text=_("Instead of an option, where the person’s own words are asked for."),
    )
    counts_against = models.BooleanField(
        help_text=_(
            "Whether the protocol counts this answer against the story; a copy, so that SQL can filter."
        )
    )
    seconds = models.FloatField(
        null=True, blank=True, help_text=_("From the answer before, or the story, to this one.")
    )

    class Meta:
        constraints = [
            unique("one_answer_per_question_and_row", ["vote", "question", "row"]),
            check(
                "answer_says_something",
                ~Q(question="") & (~Q(option="") & Q(words="") | Q(option="") & ~Q(words="")),
            ),
            # Exports put separators between answers.
            check("words_have_no_control_characters", ~Q(words__regex=r"[\u0001-\u001f\u007f-\u009f]")),
            check("answer_took_up_to_an_hour", Q(seconds=None) | Q(seconds__range=(0, MOST_SECONDS))),
        ]
        triggers = [final("answer_is_final")]

    @property
    def choice(self) -> Choice:
        """Return the question, row, and option or words as a choice."""
        return Choice(self.question, self.row, self.option or self.words)


def given_in(answers: str = "") -> Concat:
    """Return the SQL of an answer's option or words; ``answers`` is the way to it (``answers__``)."""
    return Concat(f"{answers}words", f"{answers}option")
