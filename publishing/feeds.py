"""An Atom feed of published releases."""

from datetime import datetime

from django.contrib.syndication.views import Feed
from django.db.models.functions import Coalesce
from django.urls import reverse, reverse_lazy
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext, gettext_lazy, ngettext

from publishing.filters import get_filter
from publishing.models import Release

NEWEST = 50
"""Releases in the feed."""


class ReleaseFeed(Feed):  # type: ignore[type-arg]
    feed_type = Atom1Feed
    title = gettext_lazy("Releases")
    subtitle = gettext_lazy(
        "Stories judged by people, with every vote. Every release is numbered and never changes."
    )
    link = reverse_lazy("publishing:releases")

    def items(self) -> list[Release]:
        """Order by the last change, so that a withdrawn release appears again."""
        touched = Coalesce("withdrawal__withdrawn_at", "published_at")
        found = Release.objects.published().of_people().select_related("study", "withdrawal")
        return list(found.order_by(touched.desc(), "-pk")[:NEWEST])

    def item_title(self, item: Release) -> str:
        named = gettext("%(title)s, release %(number)s") % {"title": item.title, "number": item.number}
        marks = [] if get_filter(item.filter_name).validates else [gettext("Not validated by all")]
        marks += [gettext("Withdrawn")] if item.withdrawn else []
        return f"{named} ({', '.join(marks)})" if marks else named

    def item_description(self, item: Release) -> str:
        if item.withdrawn:
            return gettext("Withdrawn, do not use it: %(reason)s") % {"reason": item.withdrawn.reason}
        return ngettext(
            "%(kept)s story kept of %(stories)s, with %(votes)s votes.",
            "%(kept)s stories kept of %(stories)s, with %(votes)s votes.",
            item.kept,
        ) % {"kept": item.kept, "stories": item.stories, "votes": item.votes}

    def item_link(self, item: Release) -> str:
        return reverse("publishing:release", args=[item.study.slug, item.number])

    def item_pubdate(self, item: Release) -> datetime | None:
        return item.published_at

    def item_updateddate(self, item: Release) -> datetime | None:
        return item.withdrawn.withdrawn_at if item.withdrawn else item.published_at
