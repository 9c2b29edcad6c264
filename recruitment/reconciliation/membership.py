"""Membership in the group of people who passed, which is shown the stories. Reads only.

Whoever has no more stories to come must not be shown them: nobody may be turned away on Prolific.
"""

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation.models import Enrollment, Story, Study, WorkSession
from recruitment.campaigns import has_story_for_newcomers, people_with_every_story, people_with_items
from recruitment.marketplace import Group
from recruitment.models import Campaign, Grant, Visit

State = Grant.State
OFF = (Campaign.State.DRAFT, Campaign.State.ENDED)


def studies_with_groups() -> QuerySet[Study]:
    """Return studies with such a group and with something on a platform for the people in it."""
    grouped = Campaign.objects.exclude(qualified_group="").values("study")
    on_offer = Campaign.objects.exclude(state__in=OFF).values("study")
    return Study.objects.filter(pk__in=grouped).filter(pk__in=on_offer).order_by("pk")


def to_leave(study: Study) -> QuerySet[Grant]:
    """Return memberships of people who are given no more stories."""
    return _by_rule(study).filter(
        state__in=[State.REQUESTED, State.DONE], annotator__in=done_with_stories(study).values("annotator")
    )


def to_come_back(study: Study) -> QuerySet[Grant]:
    """Return ended memberships of people who can be given stories again."""
    away = _by_rule(study).filter(state__in=[State.LEAVING, State.LEFT])
    return away.exclude(annotator__in=done_with_stories(study).values("annotator"))


def to_join(study: Study) -> QuerySet[Visit]:
    """Return tests that were settled before their people passed in a retake in the same visit.

    Only a person's newest: if they came once more, the visit in which they passed is settled as every other.
    """
    theirs = Grant.objects.filter(
        study=study,
        kind=Group.QUALIFIED,
        platform=OuterRef("platform"),
        environment=OuterRef("environment"),
        annotator=OuterRef("enrollment__annotator"),
    )
    is_test = Q(campaign__purpose=Campaign.Purpose.TEST)
    later = Visit.objects.filter(is_test, enrollment=OuterRef("enrollment"), pk__gt=OuterRef("pk"))
    confirmed = Visit.objects.filter(
        is_test, enrollment__study=study, session__state=WorkSession.State.CONFIRMED
    )
    found = confirmed.exclude(campaign__qualified_group="").exclude(enrollment__in=done_with_stories(study))
    return (
        found.filter(~Exists(theirs), ~Exists(later))
        .select_related("campaign__study", "enrollment__annotator")
        .order_by("pk")
    )


def done_with_stories(study: Study) -> QuerySet[Enrollment]:
    """Return people who get no more stories: suspended, gone, at their limit, or done with all free ones.

    In a study with a design also people with their load, or without a free item of a stratum that they lack.

    While no story is free the campaign pauses, and only those leave who have had all.
    """
    stories = Story.objects.main().filter(study=study)
    free = stories.filter(has_free_slot=True)
    is_over = ~Q(state=Enrollment.State.QUALIFIED) | Q(stories_submitted__gte=F("study__story_cap"))
    if study.stratum_field:
        working = people_with_items(study, free if has_story_for_newcomers(study) else stories)
        return Enrollment.objects.filter(is_over | ~Q(pk__in=working.values("pk")), study=study)
    had_all = people_with_every_story(free if free.exists() else stories, study=study)
    return Enrollment.objects.filter(study=study).filter(is_over | Q(pk__in=had_all))


def _by_rule(study: Study) -> QuerySet[Grant]:
    """Return the memberships that no researcher decided."""
    grants = Grant.objects.filter(study=study, kind=Group.QUALIFIED, set_manually=False)
    return grants.select_related("campaign", "annotator").order_by("pk")
