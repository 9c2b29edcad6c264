"""The page on which researchers revise a story."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotation import actions
from annotation.actions.reviews import LONGEST_STATEMENT
from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page
from dashboard.http import ErrorsAsMessages


@form_page(Right.CHANGE)
def revise(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Show the texts of a story that may be revised; a POST makes a new version. Lead on from an old one."""
    if "\0" in story_id or not study.protocol.revisable:  # PostgreSQL takes no such text
        raise Http404
    story = get_object_or_404(study.stories.main(), story_id=story_id)
    story.study, is_sent = study, request.method == "POST"
    if story.is_old_version and not is_sent:
        messages.info(request, _("%(old)s has been revised. This is its new version.") % {"old": story_id})
        return redirect("dashboard:story", slug=study.slug, story_id=story.revised_to.after.story_id)
    given = {name: request.POST.get(name, story.content[name]) for name in study.protocol.revisable}
    texts = {name: text.replace("\r\n", "\n") for name, text in given.items()}
    reason, may_revise = request.POST.get("reason", ""), False
    with ErrorsAsMessages(request):
        actions.check_revisable(story=story, study=study)
        may_revise = True
        if is_sent:
            new = actions.revise_story(story=story, texts=texts, reason=reason, **by_and_now(request))
            told = _("%(new)s replaces %(old)s. Nobody is given the old version any more.")
            messages.success(request, told % {"new": new.story_id, "old": story_id})
            return redirect("dashboard:story", slug=study.slug, story_id=new.story_id)
    if not may_revise:
        return redirect("dashboard:story", slug=study.slug, story_id=story_id)
    labels = {part.text: part.label for part in story.parts}
    fields = [(name, labels.get(story.content[name], name), text) for name, text in texts.items()]
    context = {"story": story, "fields": fields, "reason": reason, "longest": LONGEST_STATEMENT}
    return render(request, "dashboard/stories/revise_story.html", context, status=422 if is_sent else 200)
