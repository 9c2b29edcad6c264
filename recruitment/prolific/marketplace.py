"""Prolific behind the interface of every crowd platform.

A campaign is one study there: its posting and its remote id are the study's id. There is no sandbox; a
rehearsal is run on another workspace, or on a double. Decisions and bonuses are in ``review.py``.
"""

import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import Environment
from recruitment import marketplace
from recruitment.arrival_rules import Arrival
from recruitment.prolific import payloads, review
from recruitment.prolific.arrivals import keys_of, read_signed
from recruitment.prolific.client import API, NotFound, ProlificClient, accept_refusal_if
from recruitment.prolific.review import Review


class Prolific(Review, marketplace.Marketplace):
    """A workspace of Prolific, by its API token. Raise ``NotConfigured`` without either."""

    def __init__(
        self,
        *,
        token: str,
        environment: str,
        workspace: str,
        project: str = "",
        api: str = "",
        signs_addresses: bool = False,
        is_quick: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not token or not workspace:
            infix = "" if environment == Environment.LIVE else "_REHEARSAL"
            raise marketplace.NotConfigured(
                _("There is no account on Prolific for this: set PROLIFIC%(infix)s_TOKEN and %(workspace)s.")
                % {"infix": infix, "workspace": f"PROLIFIC{infix}_WORKSPACE"}
            )
        self.environment = environment
        self.workspace = workspace
        self.project = project
        self.signs_addresses = signs_addresses
        self._quick = ProlificClient(token=token, api=api or API, is_quick=True)
        patient = ProlificClient(token=token, api=api or API, sleep=sleep)
        self.client = self._quick if is_quick else patient
        self._now = now

    # -- money and groups

    def estimate(self, offer: marketplace.Offer) -> marketplace.Estimate:
        """Return the cost as Prolific reckons it for this account, and what it would complain about."""
        balance = self.client.get(f"/workspaces/{self.workspace}/balance/")
        total = Decimal(0)
        for reward in (offer.reward, offer.screen_out_reward):
            if reward is not None:
                asked = {"reward": payloads.cents(reward), "total_available_places": offer.seats}
                quote = self.client.post("/study-cost-calculator/", asked, repeatable=True)
                total += payloads.amount_of(quote["total_cost"])
        currency, available = balance["currency_code"], payloads.amount_of(balance["available_balance"])
        return payloads.estimate_of(offer, total=total, currency=currency, available=available)

    def balance(self) -> Decimal | None:
        """Return what the workspace holds, less what published studies may still cost."""
        balance = self.client.get(f"/workspaces/{self.workspace}/balance/")
        return payloads.amount_of(balance["available_balance"])

    def ensure_group(self, group: marketplace.Group, *, reference: str) -> str:
        name = f"tomannot {reference} {group.value}"
        wanted = {"workspace_id": self.workspace, "name": name}
        groups = self._groups(name)
        if not groups:
            try:
                self.client.post("/participant-groups/", wanted, repeatable=False)
            except marketplace.Unreachable as trouble:
                # It may have been made; the list tells. If it does not, the next request makes it.
                if not self._groups(name):
                    raise trouble
            groups = self._groups(name)
        if not groups:
            raise marketplace.Unreachable(_("Prolific does not show the new participant group yet."))
        return min(groups)

    def _groups(self, name: str) -> list[str]:
        groups = self.client.get("/participant-groups/", workspace_id=self.workspace, active="true")
        return [row["id"] for row in groups["results"] if row["name"] == name]

    def add_to_group(self, group: str, person: str) -> None:
        """Add a person: studies that ask for the group show themselves to them from then on."""
        body = {"participant_ids": [person]}
        self.client.post(f"/participant-groups/{group}/participants/", body, repeatable=True)

    def remove_from_group(self, group: str, person: str) -> None:
        self.client.delete(f"/participant-groups/{group}/participants/", {"participant_ids": [person]})

    # -- the study

    def prepare(self, offer: marketplace.Offer) -> str:
        """Return a draft, known again by its internal name and its address. Raise :class:`Refused`."""
        fields = payloads.study_of(
            offer, self._filters(offer), project=self.project, signed=self.signs_addresses
        )
        found = self._find(offer, fields["external_study_url"])
        if found is None:
            try:
                return str(self.client.post("/studies/", fields, repeatable=False)["id"])
            except marketplace.Unreachable as trouble:
                found = self._find(offer, fields["external_study_url"])
                if found is None:
                    raise trouble
        if found["status"] == "UNPUBLISHED":
            self.client.patch(f"/studies/{found['id']}/", fields)
        return str(found["id"])

    def _filters(self, offer: marketplace.Offer) -> list[dict[str, Any]]:
        if payloads.problems_of(offer):
            return []
        needs_names = offer.approved_percent is not None or offer.approved_work or offer.countries
        known = self.client.get("/filters/", workspace_id=self.workspace)["results"] if needs_names else []
        return payloads.filters_of(offer, known)

    def _find(self, offer: marketplace.Offer, address: str) -> dict[str, Any] | None:
        """Return our study for the offer, if any: published ones before drafts, older drafts first."""
        named = [
            row["id"]
            for row in self.client.rows("/studies/")
            if row.get("internal_name") == payloads.internal_name(offer)
        ]
        studies = [self._study(study_id) for study_id in named]
        ours = [study for study in studies if study["external_study_url"] == address]
        ours.sort(
            key=lambda study: (study["status"] == "UNPUBLISHED", str(study.get("date_created")), study["id"])
        )
        return ours[0] if ours else None

    def _study(self, study_id: str) -> dict[str, Any]:
        return self.client.get(f"/studies/{study_id}/")

    def post(self, offer: marketplace.Offer, remote_id: str, request: marketplace.PostingRequest) -> str:
        """Publish the study: the posting is the study itself."""
        self._move(remote_id, "PUBLISH", review.PUBLISHED)
        return remote_id

    def pause(self, remote_id: str, posting: str) -> None:
        self._move(remote_id, "PAUSE", review.PAUSED | review.OVER | {"UNPUBLISHED"})

    def resume(self, remote_id: str, posting: str, *, until: datetime) -> None:
        """Start the study again. Prolific offers it until its places are taken, whatever ``until`` says."""
        if self._study(remote_id)["status"] == "COMPLETED":
            raise marketplace.Refused(_("The study is over on Prolific. More places let people begin again."))
        self._move(remote_id, "START", frozenset({"ACTIVE", "PUBLISHING", "AWAITING REVIEW"}))

    def end(self, remote_id: str, posting: str) -> None:
        self._move(remote_id, "STOP", review.OVER | {"UNPUBLISHED"})

    def _move(self, study_id: str, action: str, settled: frozenset[str]) -> None:
        """Bring the study into one of the statuses; one that is there already is left alone.

        A repetition after a lost answer is refused, because the study has moved: then its status decides.
        """
        status = self._study(study_id)["status"]
        if status in settled:
            return
        if status == "PUBLISHING" and action != "PUBLISH":
            raise marketplace.Unreachable(_("Prolific is still publishing the study."), maybe_done=False)
        with accept_refusal_if(lambda: self._study(study_id)["status"] in settled):
            self.client.post(f"/studies/{study_id}/transition/", {"action": action}, repeatable=True)

    def widen(self, remote_id: str, posting: str, *, seats: int, token: UUID) -> None:
        """Set the number of places in all, and of paid screen-outs. Prolific takes only a greater one."""
        study = self._study(remote_id)
        if int(study["total_available_places"]) >= seats:
            return
        places: dict[str, Any] = {"total_available_places": seats}
        codes = study.get("completion_codes") or []
        screening = [
            code["code"]
            for code in codes
            if payloads.SCREEN_OUT in (one["action"] for one in code["actions"])
        ]
        if screening:
            slots = {"action": payloads.SCREEN_OUT, "slots": seats}
            places["completion_codes"] = [{"code": screening[0], "actions": [slots]}]
        with accept_refusal_if(lambda: int(self._study(remote_id)["total_available_places"]) >= seats):
            self.client.patch(f"/studies/{remote_id}/", places)

    def limit_concurrency(self, remote_id: str, most: int) -> None:
        """Set ``max_concurrent_submissions``, which Prolific also takes after publishing."""
        config = payloads.submissions_config(is_test=False) | {"max_concurrent_submissions": most}
        self.client.patch(f"/studies/{remote_id}/", {"submissions_config": config})

    def on_offer(self, remote_id: str, postings: Collection[str]) -> marketplace.OnOffer:
        status = self._study(remote_id)["status"]
        if status in review.RECRUITING:
            return marketplace.OnOffer.OPEN
        return marketplace.OnOffer.OVER if status in review.OVER else marketplace.OnOffer.PAUSED

    # -- people's work

    def work(self, remote_id: str, posting: str) -> list[marketplace.Work]:
        rows = self.client.rows("/submissions/", study=remote_id, ordering="started_at")
        return [review.work_of(row, study=remote_id) for row in rows]

    def one_work(self, submission: str) -> marketplace.Work | None:
        """Ask once and briefly: a participant waits for the page."""
        try:
            return review.work_of(self._quick.get(f"/submissions/{submission}/"))
        except NotFound:
            return None

    def signed_arrival(self, token: str, *, entry_url: str, now: datetime) -> Arrival:
        """Return the claim in a signed address; see :func:`recruitment.prolific.arrivals.read_signed`."""
        keys = keys_of(self.client.api)
        return read_signed(token, keys, entry_url=entry_url, workspace=self.workspace, now=now)
