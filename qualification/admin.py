from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.back_office import ReadOnlyAdmin, ReadOnlyInline, inline, show
from accounts.models import User
from annotation.models import CheckKey, CheckOption, CheckResult
from qualification import models
from qualification.experts import closed_rounds, closed_texts


class Blind:
    """Leave out rows about rounds and texts that the reader has still to answer blind: they tell a key."""

    about_round = about_text = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]
        if isinstance(request.user, User) and self.about_round:
            rows = rows.exclude(**{f"{self.about_round}__in": closed_rounds(request.user)})
        if isinstance(request.user, User) and self.about_text:
            rows = rows.exclude(**{f"{self.about_text}__in": closed_texts(request.user)})
        return rows


class ExpertAnswerInline(Blind, ReadOnlyInline):
    model = models.ExpertAnswer
    about_round = "review__round"

    def get_queryset(self, request: HttpRequest) -> QuerySet[models.ExpertAnswer]:
        """Return revealed answers only: experts answer blind, in the back office too."""
        return super().get_queryset(request).filter(pk__in=models.ExpertAnswer.objects.revealed())


def blind(base: type[Any], **attributes: Any) -> type[Any]:
    return type(f"Blind{base.__name__}", (Blind, base), attributes)


show(
    models.Round, "study", "number", "title", "state", "attempts_allowed", "pays_on_fail", "created_at",
    list_filter=("state",), inlines=(inline(models.RoundStory),),
)  # fmt: skip
show(
    models.AnswerKey, "round", "version", "created_by", "created_at",
    inlines=(inline(models.AcceptableOption), inline(models.KeyReason)),
    base=blind(ReadOnlyAdmin, about_round="round"),
)  # fmt: skip
show(
    models.ExpertReview, "round", "expert", "asked_at", "handed_in_at", "dismissed_at",
    inlines=(ExpertAnswerInline,),
)  # fmt: skip
show(
    models.Attempt, "id", "round", "enrollment", "number", "state", "passed", "started_at", "submitted_at",
    list_filter=("state", "passed", "round__study"),
    inlines=(blind(ReadOnlyInline, model=models.AttemptAnswer, about_round="attempt__round"),),
)  # fmt: skip
show(
    CheckKey, "id", "story", "version", "state", "created_by", "created_at",
    list_filter=("state", "story__study"), search_fields=("story__story_id",),
    inlines=(inline(CheckOption, "question", "row", "option"),),
    base=blind(ReadOnlyAdmin, about_text="story__text_hash"),
)  # fmt: skip
show(
    CheckResult, "vote", "key", "passed",
    list_filter=("passed", "key__story__study"), search_fields=("key__story__story_id",),
    base=blind(ReadOnlyAdmin, about_text="key__story__text_hash"),
)  # fmt: skip
