"""Queries that several researchers' pages share."""

from dataclasses import dataclass
from itertools import count
from urllib.parse import urlencode

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import slugify

from annotation.actions.studies import RESERVED_SLUGS
from annotation.models import Enrollment, Story, StoryImport, Study


@dataclass(frozen=True, slots=True)
class Share:
    """A row of a table with bars. ``share`` is in 0..1, or None; ``url`` lists what was counted."""

    label: str
    value: int
    share: float | None
    url: str = ""

    @classmethod
    def of(cls, label: str, value: int, whole: int, url: str = "") -> "Share":
        """Return the row of a part of a whole."""
        return cls(label, value, value / whole if whole else None, url)


def suggested_slug(title: str) -> str:
    """Return a short name made from a title that no study has."""
    base = slugify(title)[:50].strip("-_") or "study"
    taken = RESERVED_SLUGS.union(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return next(slug for n in count(1) if (slug := f"{base}-{n}" if n > 1 else base) not in taken)


def stories_address(study: Study, **search: str) -> str:
    """Return the address of the story list, searched by fields of its ``SearchForm``."""
    return f"{reverse('dashboard:stories', args=[study.slug])}?{urlencode(search)}"


def get_enrollment(study: Study, pseudonym: str) -> Enrollment:
    """Return the enrollment with this pseudonym in the study. Raise ``Http404`` if there is none."""
    return get_object_or_404(Enrollment.objects.select_related("study"), study=study, pseudonym=pseudonym)


def studies(found: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate studies with ``story_count`` and ``people_count``.

    Stories are summed over the imports that added them: counting a million rows takes a while.
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
