"""Who belongs into the group of those who passed, which is shown the stories. Reads only.

Whoever has no more stories to come must not be shown them: nobody may be turned away on Prolific.
"""

from __future__ import annotations

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Assignment, Enrollment, Story, Study, WorkSession
from recruitment.models import Campaign, Grant, Visit

State = Grant.State
OFF = (Campaign.State.DRAFT, Campaign.State.ENDED)


def studies_with_groups() -> QuerySet[Study]:
    """Studies with such a group, and with something on a platform that the people in it could be shown."""
    grouped = Campaign.objects.exclude(qualified_group="").values("study")
    on_offer = Campaign.objects.exclude(state__in=OFF).values("study")
    return Study.objects.filter(pk__in=grouped).filter(pk__in=on_offer).order_by("pk")


def to_leave(study: Study) -> QuerySet[Grant]:
    """Memberships of people who are given no more stories."""
    return _by_rule(study).filter(
        state__in=[State.REQUESTED, State.DONE], annotator__in=over(study).values("annotator")
    )


def to_come_back(study: Study) -> QuerySet[Grant]:
    """Memberships that were taken back, of people who can be given stories again."""
    away = _by_rule(study).filter(state__in=[State.LEAVING, State.LEFT])
    return away.exclude(annotator__in=over(study).values("annotator"))


def to_join(study: Study) -> QuerySet[Visit]:
    """Tests that were settled before their people passed, who were let take them again in the same visit.

    Only a person's newest: if they came once more, the visit in which they passed is settled as every other.
    """
    theirs = Grant.objects.filter(
        study=study,
        kind=Grant.Kind.QUALIFIED,
        platform=OuterRef("platform"),
        environment=OuterRef("environment"),
        annotator=OuterRef("enrollment__annotator"),
    )
    is_test = Q(campaign__purpose=Campaign.Purpose.TEST)
    later = Visit.objects.filter(is_test, enrollment=OuterRef("enrollment"), pk__gt=OuterRef("pk"))
    confirmed = Visit.objects.filter(
        is_test, enrollment__study=study, session__state=WorkSession.State.CONFIRMED
    )
    found = confirmed.exclude(campaign__qualified_group="").exclude(enrollment__in=over(study))
    return (
        found.filter(~Exists(theirs), ~Exists(later))
        .select_related("campaign__study", "enrollment__annotator")
        .order_by("pk")
    )


def over(study: Study) -> QuerySet[Enrollment]:
    """People who are given no more stories: suspended, gone, at their limit, or had every one of them."""
    stories = Story.objects.main().filter(study=study).count()
    had = Count(
        "assignments",
        filter=Q(assignments__story__role=Story.Role.MAIN) & ~Q(assignments__state=Assignment.State.EXPIRED),
    )
    # Hidden checks are among what was submitted, so that who is below that has stories left.
    had_all = (
        Enrollment.objects.filter(study=study, stories_submitted__gte=max(stories, 1))
        .annotate(had=had)
        .filter(had__gte=stories)
    )
    is_over = ~Q(state=Enrollment.State.QUALIFIED) | Q(stories_submitted__gte=F("study__story_cap"))
    return Enrollment.objects.filter(study=study).filter(is_over | Q(pk__in=had_all.values("pk")))


def _by_rule(study: Study) -> QuerySet[Grant]:
    """Not those that a researcher decided."""
    grants = Grant.objects.filter(study=study, kind=Grant.Kind.QUALIFIED, by_hand=False)
    return grants.select_related("campaign", "annotator").order_by("pk")
