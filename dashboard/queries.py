"""What several of the researchers' pages read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse

from annotation import rules
from annotation.models import Enrollment, Story, StoryImport, Study


@dataclass(frozen=True, slots=True)
class Share:
    """A row of a table with a bar: a label, a count, its share in 0..1 (None of none), where it is listed."""

    label: str
    value: int
    share: float | None
    url: str = ""


def stories_address(study: Study, **search: str) -> str:
    """The list of the study's stories that fit (``dashboard.pages.stories.SearchForm``)."""
    return f"{reverse('dashboard:stories', args=[study.slug])}?{urlencode(search)}"


def enrollment_called(study: Study, pseudonym: str) -> Enrollment | None:
    """Who has this pseudonym in the study; None when nobody has.

    A pseudonym cannot be turned back, so those of all people of the study are made and compared: about
    2 milliseconds per thousand people.
    """
    people = Enrollment.objects.filter(study=study).values_list("pk", "annotator")
    found = (pk for pk, annotator in people if rules.pseudonym(study.pseudonym_key, annotator) == pseudonym)
    number = next(found, None)
    return Enrollment.objects.select_related("study").get(pk=number) if number is not None else None


def studies(found: QuerySet[Study]) -> QuerySet[Study]:
    """Studies with their numbers of stories and people (``story_count``, ``people_count``).

    Stories are those that imports added: they stay for ever, and counting a million takes a while.
    """
    added = StoryImport.objects.filter(
        study=OuterRef("pk"), role=Story.Role.MAIN, state=StoryImport.State.IMPORTED
    )
    stories = added.order_by().values("study").annotate(n=Sum("stories_added"))
    people = (
        Enrollment.objects.filter(study=OuterRef("pk")).order_by().values("study").annotate(n=Count("pk"))
    )
    return found.annotate(
        story_count=Coalesce(Subquery(stories.values("n")), 0),
        people_count=Coalesce(Subquery(people.values("n")), 0),
    )
