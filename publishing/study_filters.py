"""The filters that a study can be judged by."""

from collections.abc import Mapping

from annotation.models import Study
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
    """Return the filter of this name for a release of the study.

    Raise :class:`UnknownFilter` if there is none, or if it is not one of those that suit the study.
    """
    found, usual = get_filter(name, study.most_votes), default_filter(study)
    if found.selects != get_filter(usual).selects:
        raise UnknownFilter(f"The protocol {study.protocol_name} cannot use the filter {name}, but {usual}.")
    if study.most_votes and name.removesuffix(ONE_OF_EACH) != usual:
        raise UnknownFilter(
            f"The filter {usual} decided how many votes each story of “{study.slug}” got, so a release uses "
            f"it as well: {usual} or {usual}{ONE_OF_EACH}, not {name}."
        )
    return found
