"""Prolific as the site knows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from django.conf import settings as site
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Environment
from recruitment.arrivals.arrival import Arrival, CannotArrive, Problem
from recruitment.arrivals.ending import Ending
from recruitment.marketplace import NotConfigured, Terms
from recruitment.models import Campaign, Visit
from recruitment.platforms import Hint, Platform, ReturnLink, Words
from recruitment.prolific.arrivals import PARTICIPANTS_SITE, completion_url, participants_site
from recruitment.prolific.client import API
from recruitment.prolific.identity import identify
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.money import pay_warning
from recruitment.prolific.payloads import REVIEW_DAYS, problems_of
from recruitment.prolific.review import CATEGORIES, SHORTEST_REJECTION
from recruitment.prolific.webhooks import read_hook, subscribe


class ProlificPlatform(Platform):
    """Studies that send people to our pages and take them back with a code."""

    words = Words(
        give_back=gettext_lazy(
            "To return it, choose “Stop without completing” on Prolific, so that somebody else can take it."
        ),
        submission=gettext_lazy("Submission"),
        posting=gettext_lazy("Study there"),
        work_page=gettext_lazy("Submissions of this study on Prolific"),
        rejection_withdrawn=gettext_lazy(
            "Prolific still asks the person to return the work, and returned work isn’t paid. Write to them "
            "that the matter is settled."
        ),
    )
    has_one_posting = True
    excludes_unfinished = False  # people may return work at any time without it being held against them
    limits_concurrency = True
    needs_codes = True
    has_return_page = True
    unused_fields = ("masters_only", "keywords", "days_open", "days_to_review")
    review_days = REVIEW_DAYS

    lists_unfinished_work = True
    approves_in_bulk = True
    shows_bonus_reason = False
    rejection_categories = CATEGORIES
    shortest_rejection = SHORTEST_REJECTION
    overturning_note = gettext_lazy(
        "Prolific may refuse to overturn it; then its own pages, or its support, are the way to do it."
    )
    bonus_fee_note = gettext_lazy("Prolific takes its fee on top.")

    def notes(self, environment: str) -> list[str]:
        return [
            _("The test is a study of its own that pays everybody who takes it, passed or not."),
            _("Completion codes are the same for everybody and prove nothing; work is checked by its id."),
            _("Before work is rejected, the person is asked to return it and has three days to do so."),
            _("What was returned or ran out of time on Prolific can never be approved there."),
            _("What nobody decides about is approved by Prolific after 21 days."),
            _("A study is offered until its places are taken, or until you pause or end the campaign."),
            _("There is no sandbox: rehearse in a workspace of its own."),
        ]

    def marketplace(self, environment: str, *, is_quick: bool = False) -> Prolific:
        account = site.PROLIFIC[environment]
        if environment == Environment.REHEARSAL:
            _refuse_live_account(account)
        return Prolific(
            environment=environment,
            token=account["token"],
            workspace=account["workspace"],
            project=account["project"],
            api=account["api"],
            is_quick=is_quick,
            signs_addresses=site.PROLIFIC_SIGNED_ADDRESSES[environment],
        )

    def read_arrival(self, campaign: Campaign, query: QueryDict, *, now: datetime) -> tuple[Arrival, bool]:
        parameters = dict(query.lists())
        if any(len(values) > 1 for values in parameters.values()):
            raise CannotArrive(Problem.WRONG_IDS)
        only = {name: values[0] for name, values in parameters.items() if values}
        return identify(campaign, only, now=now)

    def hand_in_link(self, visit: Visit, ending: Ending) -> ReturnLink | None:
        campaign = visit.campaign
        assert campaign is not None
        if not ending.is_work:
            return self.return_link(campaign)
        code = campaign.completion_code
        if ending in (Ending.SCREENED_OUT, Ending.NO_WORK):
            code = campaign.screen_out_code or code
        return ReturnLink(completion_url(code, api=_api(campaign)), code=code)

    def return_link(self, campaign: Campaign) -> ReturnLink:
        return ReturnLink(f"{participants_site(_api(campaign))}/submissions", is_return=True)

    def problems_of(self, terms: Terms) -> list[str]:
        return problems_of(terms)

    def pay_warning(self, reward: Decimal, currency: str, seconds: float) -> str:
        return pay_warning(reward, currency, seconds)

    def work_page(self, posting: str) -> str:
        return f"{PARTICIPANTS_SITE}/researcher/workspaces/studies/{posting}/submissions" if posting else ""

    def read_hook(self, headers: Mapping[str, str], body: bytes, *, environment: str) -> Hint:
        return read_hook(headers, body, secret=site.PROLIFIC_WEBHOOK_SECRETS.get(environment, ""))

    def subscribe(self, environment: str, *, address: str) -> str:
        prolific = self.marketplace(environment)
        secret = subscribe(prolific.client, workspace=prolific.workspace, address=address)
        infix = "_REHEARSAL" if environment == Environment.REHEARSAL else ""
        return f"PROLIFIC{infix}_WEBHOOK_SECRET={secret}"


def _api(campaign: Campaign) -> str:
    return site.PROLIFIC[campaign.environment]["api"] or API


def _refuse_live_account(rehearsal: dict[str, str]) -> None:
    """Raise ``NotConfigured`` if a rehearsal would spend live money: Prolific has no sandbox."""
    live = site.PROLIFIC[Environment.LIVE]
    if rehearsal["api"].rstrip("/") != live["api"].rstrip("/"):
        return
    for key, variable in (
        ("workspace", "PROLIFIC_REHEARSAL_WORKSPACE"),
        ("token", "PROLIFIC_REHEARSAL_TOKEN"),
    ):
        if rehearsal[key] and rehearsal[key] == live[key]:
            raise NotConfigured(
                _("%s is the live one: a rehearsal would spend its money. Use a workspace of its own.")
                % variable
            )


PLATFORM = ProlificPlatform()
