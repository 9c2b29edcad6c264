"""Studies and their consent texts."""

from datetime import timedelta

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, researcher
from accounts.schema import between, check, final, optional, optional_number, optional_time, unique
from annotation import deciding
from annotation.hidden_checks import FEWEST_BETWEEN, CheckRules
from annotation.intake import FEWEST_IN_GROUP, QUESTIONS
from annotation.protocols import get_protocol
from annotation.protocols.base import Instructions, Protocol
from annotation.protocols.instructions import sections_of, stored_examples

STORY_LANGUAGE = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
"""A language tag (BCP 47), as screen readers and browsers take it."""


class Study(models.Model):
    class StratumField(models.TextChoices):
        """The stored columns that can divide items into strata."""

        SCENARIO = "scenario_name"
        SEVERITY = "severity_original"
        MODEL = "story_generator_model"
        EXAMPLE = "story_prompt_example"

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        PAUSED = "paused", _("paused")
        CLOSED = "closed", _("closed")

    class Gate(models.TextChoices):
        """The state of the qualification gate: required, missing its round, or not required."""

        NOT_REQUIRED = "not_required", _("no qualification asked")
        MISSING = "missing", _("qualification asked, no round ready")
        READY = "ready", _("qualification round ready")

    class ServingOrder(models.TextChoices):
        STARTED = "started", _("stories that others have started come first")
        OWN = "own", _("every participant starts at a place of their own")
        GIVEN = "given", _("only stories that you give to participants by name")

    class OptionOrder(models.TextChoices):
        FIXED = "fixed", _("the same for everybody")
        PERSON = "person", _("drawn for each participant")

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(_("Title"), max_length=200, help_text=_("Shown at the top of every page."))
    description = models.TextField(
        _("Description"),
        blank=True,
        help_text=_("A few sentences in the invitation, on the first page, and in the card of a release."),
    )
    protocol_name = models.CharField(max_length=40)
    protocol_version = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    environment = models.CharField(max_length=20, choices=Environment, default=Environment.LIVE)
    gate = models.CharField(max_length=20, choices=Gate, default=Gate.MISSING)
    qualified_through: "models.ForeignKey[Study | None, Study | None]" = optional(
        "self",
        "qualifies_for",
        help_text=_("Only people who are qualified in that study may take part in this one."),
    )
    votes_per_story = models.PositiveSmallIntegerField(
        _("Votes per story"),
        default=3,
        validators=between(1, 99),
        help_text=_("How many participants judge each story. In the published procedure: 3."),
    )
    most_votes = models.PositiveSmallIntegerField(
        _("Votes per story at most"),
        null=True,
        blank=True,
        validators=between(2, 99),
        help_text=_(
            "Empty: every story gets the same number. Otherwise a story gets one more vote at a time until "
            "no further vote could change its outcome, or until it has this many."
        ),
    )
    decided_by = models.CharField(
        _("Filter that decides whether a story needs more votes"),
        max_length=30,
        choices=deciding.TITLES,
        default="all-agree",
        help_text=_(
            "Only with a number of votes at most. Releases then use this filter, too. A story ends as soon "
            "as the votes that could still come cannot change its outcome: with a majority of at most 5, "
            "after three that agree."
        ),
    )
    story_cap = models.PositiveIntegerField(
        _("Story limit per participant"),
        default=500,
        validators=between(1, 1_000_000),
        help_text=_("In the published procedure: 500."),
    )
    lease_minutes = models.PositiveSmallIntegerField(
        _("Lease in minutes"),
        default=30,
        validators=between(1, 10_000),
        help_text=_("How long a story stays reserved; an open page renews this up to four times as long."),
    )
    change_hours = models.PositiveSmallIntegerField(
        _("Hours to change an answer"),
        default=24,
        validators=between(0, 10_000),
        help_text=_("Participants can change an answer until it is released. 0: never."),
    )
    stall_hours = models.PositiveSmallIntegerField(
        _("Hours without votes"),
        default=24,
        help_text=_("An open study without votes for so long has stalled. 0: never."),
    )
    skip_allowance = models.PositiveSmallIntegerField(
        _("Paid skips per participant"),
        default=5,
        validators=between(0, 10_000),
        help_text=_(
            "Stories that a participant may skip and be paid for like answers. Participants see this number, "
            "and can skip more without pay. A skipped story goes to somebody else."
        ),
    )
    serving_order = models.CharField(
        _("Order of stories"),
        max_length=10,
        choices=ServingOrder,
        default=ServingOrder.STARTED,
        help_text=_(
            "Finishing started stories first leaves few unfinished. With starts of their own, participants "
            "don’t all see the same stories early on, but most stories stay unfinished until near the end: "
            "see the forecast under Overview."
        ),
    )
    option_order = models.CharField(
        _("Order of answer options"),
        max_length=10,
        choices=OptionOrder,
        default=OptionOrder.FIXED,
        help_text=_(
            "Drawn for each participant: a scale may be turned round, a question’s own options may stand in "
            "any order. The order is recorded with each vote."
        ),
    )
    stratum_field = models.CharField(
        max_length=30,
        choices=StratumField,
        blank=True,
        default="",
        db_default="",
        help_text=_("The column by which the design divides the items into strata; empty: no design."),
    )
    incomplete_after = models.PositiveSmallIntegerField(
        _("Unfinished submissions before exclusion"),
        default=3,
        db_default=3,
        validators=between(0, 100),
        help_text=_(
            "After so many in a row, Mechanical Turk hides this study’s campaigns from a participant. "
            "A finished submission resets the count. 0: never."
        ),
    )
    answers_frozen_at = optional_time(_("Answers saved before then are published and cannot change."))
    check_every = models.PositiveSmallIntegerField(
        default=0, help_text=_("One hidden check per this many stories of an annotator; 0: none.")
    )
    check_minimum = models.PositiveSmallIntegerField(
        default=3, help_text=_("Number of answered checks from which failures have consequences.")
    )
    check_warn_percent = optional_number(_("Share of failed checks that warns; empty: none does."))
    check_suspend_percent = optional_number(_("Share of failed checks that suspends; empty: none does."))
    pay_rate = models.DecimalField(
        _("Pay per hour"),
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Shown to participants. Empty: unpaid. You or the platform pay, not tomannot."),
    )
    currency = models.CharField(
        _("Currency"),
        max_length=3,
        default="USD",
        validators=[RegexValidator(r"^[A-Z]{3}\Z", _("Three capital letters, like USD."))],
        help_text=_("Three capital letters, like USD."),
    )
    contact = models.EmailField(
        _("Contact"), help_text=_("An e-mail address for questions, shown on every page.")
    )
    story_language = models.CharField(
        _("Language of the stories"),
        max_length=35,
        default="en",
        validators=[RegexValidator(STORY_LANGUAGE)],
        help_text=_("A tag such as en, de or pt-BR, so that screen readers pronounce stories correctly."),
    )
    license = models.CharField(
        _("Licence of the data"),
        max_length=60,
        default="CC-BY-4.0",
        help_text=_("The licence of your releases, like CC-BY-4.0."),
    )
    intake_questions = ArrayField(
        models.CharField(max_length=20, choices=[(name, asked.label) for name, asked in QUESTIONS.items()]),
        verbose_name=_("Questions about participants"),
        default=list,
        blank=True,
        help_text=_(
            "Asked after the consent text, the one on AI tools at the end; people can leave each of them out."
        ),
    )
    intake_group = models.PositiveSmallIntegerField(
        _("Smallest published group"),
        default=FEWEST_IN_GROUP,
        validators=between(FEWEST_IN_GROUP, 10_000),
        help_text=_("The smallest group whose answers about themselves a release may count."),
    )
    intake_grouped_at = models.DateTimeField(null=True, blank=True, editable=False)
    consent_version = models.PositiveSmallIntegerField(default=0)
    instructions: "models.ForeignKey[InstructionText | None, InstructionText | None]" = optional(
        "InstructionText", help_text=_("The study’s own instructions in force; empty: those of the protocol.")
    )
    serving_seed = models.PositiveBigIntegerField()
    pseudonym_key = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField()
    opened_at = optional_time()
    closed_at = optional_time()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ("slug",)
        constraints = [
            check("study_asks_1_to_99_votes_per_story", Q(votes_per_story__gte=1, votes_per_story__lte=99)),
            check(
                "study_asks_known_questions_and_groups_people",
                Q(intake_group__gte=FEWEST_IN_GROUP) & Q(intake_questions__contained_by=list(QUESTIONS)),
            ),
            check(
                "more_votes_are_wanted_at_most_than_at_least",
                Q(most_votes=None)
                | Q(most_votes__gt=models.F("votes_per_story"), most_votes__lte=99, stratum_field="")
                & Q(decided_by__in=list(deciding.TITLES)),
            ),
            check("study_cap_is_positive", Q(story_cap__gte=1)),
            check("story_language_is_a_tag", Q(story_language__regex=STORY_LANGUAGE)),
            check("study_lease_is_positive", Q(lease_minutes__gte=1)),
            check("checks_have_places_to_hide", Q(check_every=0) | Q(check_every__gte=FEWEST_BETWEEN)),
            check(
                "check_thresholds_are_shares",
                Q(check_minimum__gte=1)
                & (Q(check_warn_percent=None) | Q(check_warn_percent__range=(1, 100)))
                & (Q(check_suspend_percent=None) | Q(check_suspend_percent__range=(1, 100))),
            ),
            check(
                "checks_warn_before_they_suspend",
                Q(check_warn_percent=None)
                | Q(check_suspend_percent=None)
                | Q(check_warn_percent__lt=models.F("check_suspend_percent")),
            ),
            check(
                "study_is_opened_unless_draft",
                Q(state="draft", opened_at=None) | (~Q(state="draft") & Q(opened_at__isnull=False)),
            ),
            check(
                "study_closed_at_says_closed",
                Q(state="closed", closed_at__isnull=False) | (~Q(state="closed") & Q(closed_at=None)),
            ),
            check(
                "open_study_has_consent_and_gate",
                ~Q(state="open") | (Q(consent_version__gte=1) & ~Q(gate="missing")),
            ),
            check(
                "qualified_through_another_study_or_here",
                Q(qualified_through=None) | (Q(gate="not_required") & ~Q(qualified_through=models.F("pk"))),
            ),
        ]
        triggers = [
            final(
                "who_may_take_part_is_settled_in_the_draft",
                pgtrigger.UpdateOf("qualified_through_id"),
                condition=pgtrigger.Q(old__qualified_through__df=pgtrigger.F("new__qualified_through"))
                & ~pgtrigger.Q(old__state="draft"),
            ),
            final(
                "column_of_the_design_is_settled_in_the_draft",
                pgtrigger.UpdateOf("stratum_field"),
                condition=pgtrigger.Q(old__stratum_field__df=pgtrigger.F("new__stratum_field"))
                & ~pgtrigger.Q(old__state="draft"),
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def protocol(self) -> Protocol:
        """Return the study's protocol. Raise ``UnknownProtocol`` if its version is not installed."""
        return get_protocol(self.protocol_name, self.protocol_version)

    @property
    def only_given(self) -> bool:
        """Return True if people get no stories but those given to them by name."""
        return self.serving_order == self.ServingOrder.GIVEN

    def asked_of_people(self, *, at_end: bool) -> list[str]:
        """Return the intake questions asked after consent, or at the end; none once they are grouped."""
        asked = [] if self.intake_grouped_at else self.intake_questions
        return [name for name in asked if QUESTIONS[name].at_end == at_end]

    @property
    def check_rules(self) -> CheckRules:
        return CheckRules(
            self.check_every, self.check_minimum, self.check_warn_percent, self.check_suspend_percent
        )

    @property
    def slots_per_story(self) -> int:
        """The most votes that a story can get."""
        return self.most_votes or self.votes_per_story

    @property
    def votes_told(self) -> str:
        """The votes of a story for a text: “3”, or “2–5” where their number is adaptive."""
        return deciding.span(self.votes_per_story, self.most_votes)

    @property
    def lease(self) -> timedelta:
        return timedelta(minutes=self.lease_minutes)


class ConsentText(models.Model):
    """A version of the consent text. Old versions stay for those who agreed to them."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="consent_texts")
    version = models.PositiveSmallIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("study", "version")
        constraints = [
            unique("one_consent_text_per_version", ["study", "version"]),
            check("consent_text_says_something", ~Q(text="")),
        ]
        triggers = [final("consent_text_is_final")]

    def __str__(self) -> str:
        return f"{self.study} consent {self.version}"


class InstructionText(models.Model):
    """A version of a study's own instructions, examples and texts. Votes and attempts name what was shown."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="instruction_texts")
    version = models.PositiveSmallIntegerField()
    page = models.TextField(help_text=_("Paragraphs between blank lines; a line “# Title” begins a section."))
    examples = models.JSONField(
        default=dict, blank=True, help_text=_("Per question: parts, option or answer in words, and why.")
    )
    before_test = models.TextField(blank=True, help_text=_("Shown on the introduction of the test."))
    thanks = models.TextField(blank=True, help_text=_("Shown to those who stop or have finished."))
    created_by = researcher()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("study", "version")
        constraints = [
            unique("one_instruction_text_per_version", ["study", "version"]),
            check("instruction_text_says_something", ~Q(page="")),
        ]
        triggers = [final("instruction_text_is_final")]

    def __str__(self) -> str:
        return f"{self.study} instructions {self.version}"

    def as_instructions(self) -> Instructions:
        """Return the text as a protocol's instructions are."""
        return Instructions(sections_of(self.page), tuple(stored_examples(self.examples)))
