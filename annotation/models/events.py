"""The audit log; the alerts that wait to be sent or were sent, and the webhooks they go to."""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import check, final, optional, optional_time, unique
from annotation.alert_kinds import AlertKind
from annotation.models.enrollments import Enrollment
from annotation.models.studies import Study


class Event(models.Model):
    """An entry of the audit log, append-only: an action, its actor and time. Actions write their own."""

    class Type(models.TextChoices):
        STUDY_CREATED = "study_created", _("study created")
        STUDY_OPENED = "study_opened", _("study opened")
        PLAN_FIXED = "plan_fixed", _("study’s plan fixed")
        STUDY_PAUSED = "study_paused", _("study paused")
        STUDY_CLOSED = "study_closed", _("study closed")
        STUDY_COMPLETED = "study_completed", _("every story has all its votes")
        STUDY_STALLED = "study_stalled", _("no votes for a while")
        STUDY_REHEARSAL = "study_made_rehearsal", _("study made a test run")
        STUDY_CHANGED = "study_changed", _("study’s settings changed")
        ROLE_GIVEN = "role_given", _("role given")
        ROLE_TAKEN = "role_taken", _("role removed")
        MEMBER_INVITED = "member_invited", _("colleague invited")
        INVITATION_ACCEPTED = "invitation_accepted", _("invitation accepted")
        INVITATION_REVOKED = "invitation_revoked", _("invitation revoked")
        CONSENT_TEXT_ADDED = "consent_text_added", _("consent text added")
        INSTRUCTIONS_SET = "instructions_set", _("instructions changed")
        GATE_CHANGED = "gate_changed", _("qualification gate changed")
        ADMISSION_SETTLED = "admission_settled", _("admission set")
        ANNOTATORS_EXCLUDED = "annotators_excluded", _("participants excluded")
        BASELINE_DRAWN = "baseline_drawn", _("sample drawn from a release")
        STORIES_IMPORTED = "stories_imported", _("stories imported")
        IMPORT_REFUSED = "import_refused", _("import refused")
        IMPORT_CANCELLED = "import_cancelled", _("import cancelled")
        ANNOTATOR_INVITED = "annotator_invited", _("participant invited")
        CONSENT_GIVEN = "consent_given", _("consent given")
        INTAKE_ANSWERED = "intake_answered", _("questions about themselves handed in")
        INTAKE_GROUPED = "intake_grouped", _("answers of participants about themselves counted")
        CONSENT_DECLINED = "consent_declined", _("consent declined")
        CONSENT_ASKED = "consent_asked", _("asked for consent again")
        TEST_GIVEN_BACK = "test_given_back", _("test retake allowed")
        ENROLLMENT_QUALIFIED = "enrollment_qualified", _("qualified")
        ENROLLMENT_FAILED = "enrollment_failed", _("not qualified")
        ENROLLMENT_SUSPENDED = "enrollment_suspended", _("suspended")
        ENROLLMENT_REINSTATED = "enrollment_reinstated", _("reinstated")
        STORY_SKIPPED = "story_skipped", _("story skipped")
        ITEMS_GIVEN = "items_given", _("stories given by name")
        ITEMS_TAKEN_BACK = "items_taken_back", _("stories given by name taken back")
        LEASE_RELEASED = "lease_released", _("lease ended by a researcher")
        VOTE_SUBMITTED = "vote_submitted", _("vote submitted")
        VOTE_CHANGED = "vote_changed", _("vote changed")
        ANNOTATOR_EXCLUDED = "annotator_excluded", _("participant’s votes excluded")
        ANNOTATOR_READMITTED = "annotator_readmitted", _("participant’s votes readmitted")
        VOTE_EXCLUDED = "vote_excluded", _("vote excluded")
        VOTE_READMITTED = "vote_readmitted", _("vote readmitted")
        SAMPLE_DRAWN = "review_sample_drawn", _("answers drawn for review")
        VOTE_CHECKED = "vote_checked", _("vote reviewed")
        STORY_REVISED = "story_revised", _("story revised")
        STORY_ADJUDICATED = "story_adjudicated", _("story decided by an expert")
        CHECKS_CHANGED = "checks_changed", _("hidden checks changed")
        CHECK_FAILED = "check_failed", _("hidden check failed")
        ANNOTATOR_WARNED = "annotator_warned", _("warned after failed checks")
        ANNOTATOR_FLAGGED = "annotator_flagged", _("flagged")
        ANSWERS_FROZEN = "answers_frozen", _("answers made final for a release")
        ANSWERS_THAWED = "answers_thawed", _("answers no longer final")
        ENROLLMENT_WITHDRAWN = "enrollment_withdrawn", _("withdrew")
        LINK_MAILED = "link_mailed", _("personal link sent by e-mail")
        LINK_NOT_MAILED = "link_not_mailed", _("mail not delivered")
        LINK_REVOKED = "link_revoked", _("personal link revoked")
        ADDRESS_GIVEN = "address_given", _("e-mail address given")
        ADDRESS_CONFIRMED = "address_confirmed", _("e-mail address confirmed")
        ADDRESS_FORGOTTEN = "address_forgotten", _("e-mail address removed")
        JOIN_LINK_SET = "join_link_set", _("join link set")
        JOIN_LINK_REMOVED = "join_link_removed", _("join link removed")
        IDENTITY_SHOWN = "identity_shown", _("platform ids viewed")
        IDENTITY_ERASED = "identity_erased", _("personal data deleted")
        ROUND_CREATED = "round_created", _("qualification round created")
        KEY_SET = "answer_key_set", _("answer key set")
        EXPERT_ASKED = "expert_asked", _("expert asked for the answer key")
        EXPERT_DONE = "expert_done", _("expert’s answers handed in")
        ROUND_CHANGED = "round_changed", _("qualification round changed")
        ATTEMPT_STARTED = "attempt_started", _("qualification attempt started")
        ATTEMPT_SUBMITTED = "attempt_submitted", _("qualification attempt handed in")
        VISIT_ARRIVED = "visit_arrived", _("visit started")
        DATA_DESCRIBED = "data_described", _("data statement written")
        RELEASE_REQUESTED = "release_requested", _("release requested")
        RELEASE_PUBLISHED = "release_published", _("release published")
        RELEASE_FAILED = "release_failed", _("release failed")
        RELEASE_IMPORTED = "release_imported", _("release imported")
        RELEASE_WITHDRAWN = "release_withdrawn", _("release withdrawn")
        DEPOSIT_REQUESTED = "deposit_requested", _("deposit of a release started")
        DEPOSIT_DONE = "deposit_done", _("release deposited")
        DEPOSIT_FAILED = "deposit_failed", _("deposit of a release failed")
        API_TOKEN_MADE = "api_token_made", _("API token created")
        API_TOKEN_REVOKED = "api_token_revoked", _("API token revoked")
        CAMPAIGN_CREATED = "campaign_created", _("campaign on a platform created")
        CAMPAIGN_CHANGED = "campaign_changed", _("campaign on a platform changed")
        PLATFORM_SYNCED = "platform_synced", _("work compared with the platform")
        WORK_CONFIRMED = "work_confirmed", _("work confirmed by the platform")
        WORK_DOUBTED = "work_doubted", _("work not confirmed by the platform")
        PAYMENT_REQUESTED = "payment_requested", _("payment requested")
        PAYMENT_SENT = "payment_sent", _("payment made")
        PAYMENT_FAILED = "payment_failed", _("payment failed")
        MISMATCH_NOTICED = "mismatch_noticed", _("mismatch with a platform noticed")
        ALERTS_CHANGED = "alerts_changed", _("alerts or webhooks changed")
        ALERTS_TESTED = "alerts_tested", _("test alert requested")
        VISIT_REFUSED = "visit_refused", _("visit refused")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="events", db_index=False)
    type = models.CharField(max_length=40, choices=Type)
    actor = researcher(db_index=False)
    enrollment = optional(Enrollment, "events", db_index=False)
    member = researcher(
        db_index=False, help_text=_("The researcher whose role it is about; user names can change.")
    )
    subject = models.CharField(max_length=100, blank=True)
    note = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        # The log is read from its end, a page at a time, whatever it is filtered by. Votes have no actor,
        # so that the index of actors stays small.
        indexes = [
            models.Index(fields=["study", "at", "id"], name="events_of_study"),
            models.Index(fields=["study", "type", "at", "id"], name="events_of_type"),
            models.Index(fields=["enrollment", "at", "id"], name="events_of_enrollment"),
            models.Index(
                fields=["actor", "study", "at", "id"],
                condition=models.Q(actor__isnull=False),
                name="events_of_actor",
            ),
            models.Index(
                fields=["member", "study", "id"],
                condition=models.Q(member__isnull=False),
                name="events_of_member",
            ),
        ]
        triggers = [final("event_is_final")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.get_type_display()}"


class Webhook(models.Model):
    """An address that gets a study's alerts as signed requests.

    Its secret is derived from ``nonce`` and the installation's key, so that the database holds none.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=500)
    kinds = ArrayField(models.CharField(max_length=30, choices=AlertKind))
    nonce = models.CharField(max_length=32, editable=False)
    made_by = researcher()
    made_at = models.DateTimeField()
    removed_at = optional_time()

    class Meta:
        ordering = ("pk",)
        constraints = [check("webhook_has_kinds_and_a_nonce", ~Q(nonce="") & Q(kinds__len__gt=0))]

    def __str__(self) -> str:
        return f"webhook {self.pk}"

    @property
    def host(self) -> str:
        """Return where it leads without the path, which is often a secret."""
        return self.url.split("/", 3)[2]

    @property
    def labels(self) -> list[str]:
        return [str(AlertKind(kind).label) for kind in self.kinds]


class AlertQuerySet(models.QuerySet["Alert"]):
    def due(self, now: datetime) -> "AlertQuerySet":
        """Filter unsent alerts whose time has come and which no worker has leased."""
        free = Q(leased_until=None) | Q(leased_until__lte=now)
        return self.filter(free, sent_at=None, given_up_at=None, due_at__lte=now)


class Alert(models.Model):
    """One alert for one recipient: a row of the outbox, written in the transaction of its cause.

    ``event`` is the cause; a digest has the ``day`` on which its 24 hours end instead.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="alerts")
    kind = models.CharField(max_length=30, choices=AlertKind)
    event = optional(Event, "alerts")
    day = models.DateField(null=True)
    user = researcher("alerts")
    webhook = optional(Webhook, "alerts")
    due_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    failure = models.TextField(blank=True, help_text=_("Why the last try failed."))

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(sent_at=None, given_up_at=None), name="alerts_to_send"
            )
        ]
        constraints = [
            check(
                "alert_has_one_recipient",
                Q(user=None, webhook__isnull=False) | Q(user__isnull=False, webhook=None),
            ),
            check(
                "alert_has_one_cause",
                Q(kind="digest", event=None, day__isnull=False)
                | (~Q(kind="digest") & Q(event__isnull=False, day=None)),
            ),
            check("alert_is_not_sent_and_given_up", Q(sent_at=None) | Q(given_up_at=None)),
            unique("one_alert_per_event_and_user", ["event", "user"]),
            unique("one_alert_per_event_and_webhook", ["event", "webhook"]),
            unique("one_digest_a_day", ["study", "user", "day"]),
        ]

    def __str__(self) -> str:
        return f"alert {self.pk}"
