"""The filters that a study can be judged by."""

from collections.abc import Mapping

from annotation.models import Study
from publishing import filters
from publishing.errors import UnknownFilter
from publishing.filters import ONE_OF_EACH, StoryFilter, filters_for, get_filter


def filters_of(study: Study, usual: Mapping[str, StoryFilter]) -> Mapping[str, StoryFilter]:
    """Return the filters that can judge the study's stories, the default first: ``usual``.

    Where the number of votes is adaptive, it is only the one that decides it.
    """
    if not study.most_votes:
        return usual
    return {study.decided_by: get_filter(study.decided_by, study.most_votes)}


def default_filter(study: Study) -> str:
    """Return the name of the filter that the study's releases use by default."""
    return next(iter(filters_of(study, filters_for(study.protocol_name))))


def filter_for(study: Study, name: str) -> StoryFilter:
    """Return the filter of this name for a release of the study. Raise :class:`UnknownFilter`."""
    found = filters.filter_for(study.protocol_name, name)
    if study.most_votes and name.removesuffix(ONE_OF_EACH) != study.decided_by:
        raise UnknownFilter(
            f"The filter {study.decided_by} decided how many votes each story of “{study.slug}” got, so a "
            f"release uses it as well: {study.decided_by} or {study.decided_by}{ONE_OF_EACH}, not {name}."
        )
    return get_filter(found.name, study.most_votes)
