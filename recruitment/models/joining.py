"""How people come: join links and visits. Who they are there is in ``accounts.PlatformIdentity``."""

from __future__ import annotations

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, PlatformIdentity
from annotation.models import Enrollment, Study, WorkSession
from recruitment.models.campaigns import Campaign, Posting

_GIVEN_UP = """
    IF NEW.replaced_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM annotation_worksession w WHERE w.id = NEW.session_id AND w.state = 'doubted') THEN
        RAISE EXCEPTION 'work of which something may still count is not taken anew';
    END IF;
    RETURN NULL;
"""


class JoinLink(models.Model):
    """One address of a study for everybody: a platform adds the participant's id to it.

    The rules of what each setting may be are in ``recruitment.joining``.
    """

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="join_link")
    parameter = models.CharField(
        max_length=40,
        default="participant",
        help_text=_("The name under which the platform gives the participant's id."),
    )
    placeholder = models.CharField(
        max_length=60, blank=True, help_text=_("What the platform replaces by the participant’s id.")
    )
    adds_parameter = models.BooleanField(
        default=False, help_text=_("The platform adds name and id to the address by itself.")
    )
    source = models.CharField(
        max_length=60,
        help_text=_(
            "Whose ids they are. The same id from the same source is the same person in every study."
        ),
    )
    return_url = models.CharField(
        max_length=500,
        blank=True,
        help_text=_("Where people go at the end; {code} and {participant} are filled in."),
    )
    screen_out_url = models.CharField(
        max_length=500, blank=True, help_text=_("The same for who has only done the test.")
    )
    leave_url = models.CharField(
        max_length=500, blank=True, help_text=_("The same for who has done nothing, and so has no code.")
    )
    return_hosts = ArrayField(
        models.CharField(max_length=253),
        default=list,
        blank=True,
        help_text=_("Hosts to which people may be sent."),
    )
    closes_at = models.DateTimeField(
        null=True, blank=True, help_text=_("From when on nobody new comes in by it.")
    )
    most_people = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("How many people may come in by it; empty: any number.")
    )
    set_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(parameter__regex=r"^[A-Za-z][A-Za-z0-9_]{0,39}$"),
                name="join_link_parameter_is_a_name",
            ),
            models.CheckConstraint(
                condition=Q(return_url="") | Q(return_url__startswith="https://"),
                name="join_link_leads_back_by_https",
            ),
            models.CheckConstraint(
                condition=(Q(screen_out_url="") | Q(screen_out_url__startswith="https://"))
                & (Q(leave_url="") | Q(leave_url__startswith="https://")),
                name="join_link_leads_out_by_https",
            ),
            models.CheckConstraint(
                condition=~Q(leave_url__contains="{code}"), name="no_code_for_who_did_nothing"
            ),
        ]

    def __str__(self) -> str:
        return f"join link of {self.study}"


class Visit(models.Model):
    """One arrival of a person at a study. Every page of the visit carries a token that names it.

    A visit for a campaign is one piece of work there, known by the platform's id of it *and* the person:
    the id may come again with somebody else. Opening the same piece of work again is the same visit, but
    for one that was given back, or ran out, and was then taken anew: that is replaced by another one.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="visits")
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    arrived_at = models.DateTimeField()
    campaign = models.ForeignKey(
        Campaign, on_delete=models.PROTECT, null=True, blank=True, related_name="visits"
    )
    posting = models.ForeignKey(
        Posting, on_delete=models.PROTECT, null=True, blank=True, related_name="visits"
    )
    hit_assignment = models.CharField(
        max_length=64, blank=True, help_text=_("The platform’s id of this piece of work.")
    )
    session = models.OneToOneField(
        WorkSession, on_delete=models.PROTECT, null=True, blank=True, related_name="visit"
    )
    submit_to = models.CharField(
        max_length=200, blank=True, help_text=_("The platform’s site to which the work is handed in.")
    )
    receipt = models.CharField(
        max_length=40, blank=True, help_text=_("Goes to the platform with the work, and comes back from it.")
    )
    handed_in_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the person was first sent to hand it in.")
    )
    decided_by_hand = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("A researcher has said whether its votes count: no comparison says otherwise."),
    )
    left_told_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("When the platform told that this person gave the work back or let it run out."),
    )
    replaced_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the same person took the same piece of work anew.")
    )

    class Meta:
        ordering = ("-pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["platform", "environment", "hit_assignment", "enrollment"],
                condition=~Q(hit_assignment="") & Q(replaced_at=None),
                name="one_visit_per_piece_of_work_and_person",
            ),
            models.CheckConstraint(
                condition=Q(campaign=None, session=None, hit_assignment="", receipt="")
                | Q(campaign__isnull=False, session__isnull=False) & ~Q(hit_assignment="") & ~Q(receipt=""),
                name="visit_is_for_a_campaign_or_not",
            ),
            models.CheckConstraint(
                condition=Q(replaced_at=None) | ~Q(hit_assignment=""), name="only_work_is_taken_anew"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="replaced_visit_is_given_up",
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("replaced_at"),
                when=pgtrigger.After,
                func=_GIVEN_UP,
            ),
        ]

    def __str__(self) -> str:
        return f"visit {self.pk}"
