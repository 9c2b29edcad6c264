"""Reconcile participants' lists about a story in one form with a row for each listed entry."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation import actions
from annotation.errors import ChangedMeanwhile
from annotation.models import Adjudication, Story, Study
from annotation.protocols.questions import field_name
from annotation.reasons import LONGEST_STATEMENT
from annotation.reconciling import Change, ReconciledRow, table_of
from annotation.rights import by_and_now
from dashboard.http import ErrorsAsMessages
from dashboard.stories.tables import StoryTable, tables_of

MORE_ROWS = 10
"""Empty rows below the listed ones, to add what nobody listed."""
NEW = "new-"
"""Begins the key of an empty row of the form."""
AT_ONCE = 50
"""Stories whose tables are read at once, and shown on the page; the file has all."""


def reconcile_story(request: HttpRequest, study: Study, story: Story, *, following: str) -> HttpResponse:
    """Show the lists of a story as one table to edit. A POST stores it, and goes on to ``following``."""
    table = tables_of(study, [story])[story.pk]
    sent, unsaved = request.POST, []
    if request.method == "POST":
        rows = list(_edited(sent, study, table))
        with ErrorsAsMessages(request, ValueError):
            try:
                seen = int(sent.get("seen", ""))
                reason = sent.get("reason", "")
                actions.reconcile(story=story, rows=rows, reason=reason, seen=seen, **by_and_now(request))
            except ChangedMeanwhile:  # show what is there now, and beside it what was not saved
                unsaved = [row for row in rows if row not in {as_edited(one) for one in table.rows}]
                table, sent = tables_of(study, [story])[story.pk], QueryDict()
                raise
            messages.success(request, _("The lists of %(story)s are reconciled.") % {"story": story.story_id})
            return redirect(following or reverse("dashboard:story", args=[study.slug, story.story_id]))
    newest = Adjudication.objects.filter(story=story).order_by("-pk").first()
    context = {
        "story": story,
        "table": table,
        "rows": list(_form_rows(sent, study, table)),
        "unsaved": unsaved,
        "seen": newest.pk if newest else 0,
        "longest": LONGEST_STATEMENT,
        "reason": sent.get("reason", table.earlier.reason if table.earlier else ""),
        "next": following,
    }
    return render(request, "dashboard/quality/reconcile.html", context)


def reconciled_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the stories whose lists were reconciled, the newest first, and the way to the next one."""
    found = list(islice(_reconciled(study), AT_ONCE + 1))
    context = {"rows": found[:AT_ONCE], "more": len(found) > AT_ONCE}
    return render(request, "dashboard/quality/reconciled.html", context)


def as_edited(row: ReconciledRow) -> actions.EditedRow:
    """Return a row as its form sends it if nobody changes it."""
    return actions.EditedRow(row.key, row.words, row.change is Change.LEFT_OUT, row.remark)


def columns_of(study: Study) -> list[str]:
    """Return the columns of :func:`table_rows`."""
    asked = [question.key for question in study.protocol.questions]
    return ["story_id", "row", *asked, "change", "remark", "listed_by", "reason", "by", "at"]


def table_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield every row of every reconciled table for the file."""
    for story, table in _reconciled(study):
        done = table.reconciled
        assert done
        for row in table.rows:
            yield {
                "story_id": story.story_id,
                "row": row.key,
                **dict(zip([question.key for question in study.protocol.questions], row.words, strict=True)),
                "change": row.change,
                "remark": row.remark,
                "listed_by": len(row.listed.people) if row.listed else 0,
                "reason": done.reason,
                "by": done.by.get_username() if done.by else "",
                "at": done.at.isoformat(),
            }


def _reconciled(study: Study) -> Iterator[tuple[Story, StoryTable]]:
    """Yield the stories whose lists are reconciled, the newest first, some at a time."""
    done = (
        Adjudication.objects.filter(story__study=study)
        .standing()
        .filter(question=table_of(study.protocol), row="")
    )
    decided = done.select_related("story").order_by("-pk").iterator(chunk_size=AT_ONCE)
    while some := [one.story for one in islice(decided, AT_ONCE)]:
        tables = tables_of(study, some)
        yield from ((story, tables[story.pk]) for story in some if tables[story.pk].reconciled)


def _form_rows(sent: QueryDict, study: Study, table: StoryTable) -> Iterator[dict[str, Any]]:
    """Yield the rows of the form by key, with what was sent if it was refused, and empty ones below."""
    questions = study.protocol.questions
    for key, row in [(row.key, row) for row in table.rows] + [(f"{NEW}{n}", None) for n in range(MORE_ROWS)]:
        words = row.words if row else ("",) * len(questions)
        remark, was_left_out = (row.remark, row.change is Change.LEFT_OUT) if row else ("", False)
        fields = [field_name(question.key, key) for question in questions]
        yield {
            "key": key,
            "row": row,
            "cells": [
                {"question": question, "name": name, "value": sent.get(name, word)}
                for question, name, word in zip(questions, fields, words, strict=True)
            ],
            "left_out": f"left-out.{key}" in sent if f"remark.{key}" in sent else was_left_out,
            "remark": sent.get(f"remark.{key}", remark),
            "revised": row.listed.words if row and row.listed and row.change is Change.REVISED else None,
        }


def _edited(sent: QueryDict, study: Study, table: StoryTable) -> Iterator[actions.EditedRow]:
    """Yield the rows that were sent, without empty ones at the end."""
    for one in _form_rows(sent, study, table):
        words, key = tuple(cell["value"] for cell in one["cells"]), one["key"] if one["row"] else ""
        if f"remark.{one['key']}" in sent and (key or any(word.strip() for word in words)):
            yield actions.EditedRow(key, words, one["left_out"], one["remark"])
