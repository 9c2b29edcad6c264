"""The page on which researchers revise a story."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from annotation import actions
from annotation.errors import InvalidInput, WrongState
from annotation.models import Story, Study
from annotation.reasons import LONGEST_STATEMENT
from annotation.rights import Right, by_and_now, form_page
from dashboard.http import ErrorsAsMessages, render_form
from dashboard.settings.forms import prose


class RevisionForm(forms.Form):
    """A form for the texts of a story that may be revised, and the reason."""

    def __init__(self, story: Story, data: Any = None) -> None:
        revisable = story.study.protocol.revisable
        super().__init__(data, initial={name: story.content[name] for name in revisable})
        labels = {part.text: part.label for part in story.parts}
        for name in revisable:
            label = labels.get(story.content[name], name)
            self.fields[name] = prose(label, rows=16, required=True)
            self.fields[name].widget.attrs |= {"dir": "auto", "lang": story.study.story_language}
        hint = _("It is published with both texts.")
        self.fields["reason"] = prose(_("Reason"), hint, rows=3, required=True, max_length=LONGEST_STATEMENT)

    @property
    def texts(self) -> dict[str, str]:
        """Return the new texts by key, once the form is valid."""
        texts = {name: text.replace("\r\n", "\n") for name, text in self.cleaned_data.items()}
        del texts["reason"]
        return texts


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
    with ErrorsAsMessages(request):
        if not is_sent:
            actions.check_revisable(story=story, study=study)
        return _form_page(request, story)
    return redirect("dashboard:story", slug=study.slug, story_id=story_id)


def _form_page(request: HttpRequest, story: Story) -> HttpResponse:
    study, is_sent = story.study, request.method == "POST"
    form = RevisionForm(story, request.POST if is_sent else None)
    if form.is_valid():
        by, reason = by_and_now(request), form.cleaned_data["reason"]
        try:
            new = actions.revise_story(story=story, texts=form.texts, reason=reason, **by)
        except InvalidInput as error:
            form.add_error(study.protocol.revisable[0], str(error))
        except WrongState as error:
            form.add_error(None, str(error))
        else:
            done = _("%(new)s replaces %(old)s. Nobody is given the old version any more.")
            messages.success(request, done % {"new": new.story_id, "old": story.story_id})
            return redirect("dashboard:story", slug=study.slug, story_id=new.story_id)
    return render_form(request, "dashboard/stories/revise_story.html", {"story": story, "form": form})
