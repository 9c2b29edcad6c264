"""People's accuracy in a multiple-choice study, from the database. Reads only."""

from collections import defaultdict
from typing import Any

from django.db.models import Count

from annotation.models import Story, Study, Vote
from publishing.human_baseline.accuracy import AnsweredItem, accuracy
from publishing.models import BaselineSample


def has_accuracy(study: Study) -> bool:
    """Return True if right answers are known for the study."""
    return bool(study.protocol.scored)


def results(study: Study) -> dict[str, Any]:
    """Return the source of the questions and :func:`accuracy` of the counted votes so far.

    Raise ``ValueError`` for a study of another protocol.
    """
    if not has_accuracy(study):
        raise ValueError(f"“{study.slug}” has no right answers to compare with.")
    sample = BaselineSample.objects.select_related("release__study").filter(study=study).first()
    annotators = Vote.objects.of_study(study).counted().values("assignment__enrollment").distinct()
    return {
        "study": study.slug,
        "environment": study.environment,
        "votes_per_item": study.votes_per_story,
        "annotators": annotators.count(),
        "sample": sample and sample.provenance(),
        **accuracy(answered_items(study), votes_per_item=study.votes_per_story),
    }


def answered_items(study: Study) -> list[AnsweredItem]:
    """Return every item of the study with its counted votes."""
    protocol = study.protocol
    votes = (
        Vote.objects.of_study(study)
        .counted()
        .filter(answers__question=protocol.scored)
        .values_list("assignment__story", "answers__option")
        .annotate(votes=Count("pk"))
        .order_by()
    )
    given: dict[int, dict[str, int]] = defaultdict(dict)
    for story, option, count in votes:
        given[story][option] = count
    stories = Story.objects.filter(study=study).main().order_by("story_id")
    items = []
    for story in stories.only("core_id", "content").iterator():
        item = protocol.parse(story.content)
        items.append(
            AnsweredItem(
                config=item.config,
                story=story.core_id,
                right=protocol.right_option(story.content),
                options=len(item.choices),
                given=given.get(story.pk, {}),
            )
        )
    return items
