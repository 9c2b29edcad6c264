"""People's accuracy in a study with right answers, from the database. Reads only."""

from collections import defaultdict
from typing import Any

from django.db.models import Count

from annotation.models import Story, Study, Vote
from publishing.models import BaselineSample
from publishing.statistics.accuracy import AnsweredItem, accuracy


def results(study: Study) -> dict[str, Any]:
    """Return the source of the questions and :func:`accuracy` of the counted votes so far.

    The study's protocol must know right answers.
    """
    sample = BaselineSample.objects.select_related("release__study").filter(study=study).first()
    annotators = Vote.objects.of_study(study).counted().values("assignment__enrollment").distinct()
    return {
        "study": study.slug,
        "environment": study.environment,
        "votes_per_item": study.votes_per_story,
        "annotators": annotators.count(),
        "sample": sample and sample.provenance(),
        **accuracy(_answered_items(study), votes_per_item=study.votes_per_story),
    }


def _answered_items(study: Study) -> list[AnsweredItem]:
    protocol = study.protocol
    votes = (
        Vote.objects.of_study(study)
        .counted()
        .filter(answers__question=protocol.scored)
        .values_list("assignment__story", "answers__row", "answers__option")
        .annotate(votes=Count("pk"))
        .order_by()
    )
    given: dict[int, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for story, row, option, count in votes:
        given[story][row][option] = count
    stories = Story.objects.filter(study=study).main().order_by("story_id")
    return [
        AnsweredItem(row.kind, story.core_id, row.right, row.options, given[story.pk][row.row])
        for story in stories.only("core_id", "content").iterator()
        for row in protocol.scored_rows(story.content)
        if row.right
    ]
