"""The data statement: what only the researchers know about their data."""

from dataclasses import asdict

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, rights_in
from dashboard.releases.forms import StatementForm
from dashboard.responses import render_form
from publishing.actions.data_statement import describe_data
from publishing.errors import InvalidStatement
from publishing.models import DataStatement
from publishing.queries import statement_of
from tomannot import clock


@form_page(post=Right.CHANGE)
def data_statement(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the data statement. A POST saves a new version."""
    may_change = Right.CHANGE in rights_in(request.user, study)
    form = _form(request, study, may_change=may_change)
    if request.method == "POST" and form.is_valid():
        try:
            describe_data(study=study, statement=form.statement(), **by_and_now(request))
            messages.success(
                request, _("Saved. The next release includes it; earlier releases do not change.")
            )
            return redirect("dashboard:data_statement", slug=study.slug)
        except InvalidStatement as error:
            form.refuse(error.problems)
    standing = DataStatement.objects.of(study, at=clock.now())
    context = {"form": form, "may_change": may_change, "standing": standing}
    return render_form(request, "dashboard/releases/data_statement.html", context)


def _form(request: HttpRequest, study: Study, *, may_change: bool) -> StatementForm:
    said = statement_of(study, at=clock.now())
    initial = asdict(said) | {"creators": "\n".join(said.creators)}
    form = StatementForm(request.POST if request.method == "POST" else None, initial=initial)
    for field in form.fields.values():
        field.disabled = not may_change
    return form
