"""Having Prolific tell us when something changes."""

from __future__ import annotations

from recruitment.prolific.client import ProlificClient
from recruitment.prolific.webhooks import EVENT_TYPES

HOOK_SECRET = "X-Hook-Secret"  # noqa: S105  # the name of a header


def subscribe(client: ProlificClient, *, workspace: str, address: str) -> str:
    """Have Prolific post to the address from now on; returns the secret with which it signs.

    A workspace has one secret: one that is there is kept, since others may rely on it. What is subscribed to
    already is left alone. Raises the errors of ``recruitment.marketplace``.
    """
    secret = _secret(client, workspace)
    found = client.get("/hooks/subscriptions/", workspace_id=workspace, is_enabled="true")["results"]
    there = {row["event_type"] for row in found if row["target_url"] == address}
    for event_type in EVENT_TYPES:
        if event_type not in there:
            _subscribe(client, workspace, event_type, address)
    return secret


def _secret(client: ProlificClient, workspace: str) -> str:
    found = client.get("/hooks/secrets/", workspace_id=workspace)["results"]
    if not found:
        found = [client.post("/hooks/secrets/", {"workspace_id": workspace}, repeatable=False)]
    return str(found[0]["value"])


def _subscribe(client: ProlificClient, workspace: str, event_type: str, address: str) -> None:
    """Ask, and confirm with the secret that only the answer's header has."""
    wanted = {"workspace_id": workspace, "event_type": event_type, "target_url": address}
    made = client.reply("POST", "/api/v1/hooks/subscriptions/", body=wanted, repeatable=False)
    confirmation = {"secret": made.headers[HOOK_SECRET]}
    client.post(f"/hooks/subscriptions/{made.body['id']}/", confirmation, repeatable=True)
