"""Decide what keeps a study from opening, in sentences. Pure functions."""

from collections.abc import Sequence

from django.utils.translation import gettext as _


def blockers(
    *,
    main_stories: int,
    consent_version: int,
    gate: str,
    lacks_checks: bool,
    unserved: Sequence[tuple[str, int, int, str]],
    story_cap: int,
    stories_of_design: int,
) -> list[str]:
    """Return what keeps a study from opening, as sentences with remedies; empty if it can open."""
    found = []
    if main_stories == 0:
        found.append(_("It has no stories. To import some: manage.py import_stories SLUG FILE."))
    if consent_version == 0:
        found.append(_("It has no consent text. Add one as “consent” in the study’s configuration."))
    if gate == "missing":
        text = _(
            "It asks for qualification, but has no round with a complete answer key. Add both as "
            "“qualification” in the study’s configuration; a study without it lets everybody in."
        )
        found.append(text)
    if lacks_checks:
        text = _(
            "It uses hidden checks, but none has known answers. Add some on the page “Hidden "
            "checks”, or turn hidden checks off there."
        )
        found.append(text)
    found += [unserved_in_words(*stratum) for stratum in unserved]
    if story_cap < stories_of_design:
        found.append(cap_problem(story_cap, stories_of_design))
    return found


def unserved_in_words(name: str, items: int, load: int, named: str) -> str:
    """Return why the design cannot serve a stratum, with the remedy."""
    text = _(
        "Its design asks for %(load)s items of “%(name)s” per participant; it has %(items)s. Add a load for "
        "it of at most that, or correct the column."
    )
    if not name:
        text = _("%(items)s items have no value in the design’s column: %(named)s. Choose another column.")
    return text % {"name": name, "items": items, "load": load, "named": named}


def cap_problem(story_cap: int, needed: int) -> str:
    """Return what is wrong with a story limit that ends before a design's set of so many stories."""
    return _(
        "With its hidden checks, the design gives each participant up to %(needed)s stories, but the limit "
        "is %(cap)s. Raise the limit, or lower the loads."
    ) % {"needed": needed, "cap": story_cap}
