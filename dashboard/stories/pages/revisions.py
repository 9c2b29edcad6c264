"""The page on which researchers revise a story."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotation import actions
from annotation.actions.reviews import LONGEST_STATEMENT
from annotation.models import Story, Study
from annotation.rights import Right, by_and_now, form_page
from dashboard.http import ErrorsAsMessages


@form_page(Right.CHANGE)
def revise(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Show the texts of a story that may be revised; a POST makes a new version. Lead on from an old one."""
    if "\0" in story_id or not study.protocol.revisable:  # PostgreSQL takes no such text
        raise Http404
    story = get_object_or_404(study.stories.main(), story_id=story_id)
    story.study = study
    if story.is_old_version and request.method != "POST":
        messages.info(request, _("%(old)s has been revised. This is its new version.") % {"old": story_id})
        return _to(story.revised_to.after)
    with ErrorsAsMessages(request):
        actions.check_revisable(story=story, study=study)
        return _new_version(request, story)
    return _to(story)


def _new_version(request: HttpRequest, story: Story) -> HttpResponse:
    sent = {name: text.replace("\r\n", "\n") for name, text in request.POST.items()}
    texts = {name: sent.get(name, story.content[name]) for name in story.protocol.revisable}
    with ErrorsAsMessages(request):
        if sent:
            new = actions.revise_story(
                story=story, texts=texts, reason=sent.get("reason", ""), **by_and_now(request)
            )
            told = _("%(new)s replaces %(old)s. Nobody is given the old version any more.")
            messages.success(request, told % {"new": new.story_id, "old": story.story_id})
            return _to(new)
    labels = {part.text: part.label for part in story.parts}
    context = {
        "story": story,
        "texts": [(name, labels.get(story.content[name], name), text) for name, text in texts.items()],
        "reason": sent.get("reason", ""),
        "longest": LONGEST_STATEMENT,
    }
    return render(request, "dashboard/stories/revise_story.html", context, status=422 if sent else 200)


def _to(story: Story) -> HttpResponse:
    return redirect("dashboard:story", slug=story.study.slug, story_id=story.story_id)
