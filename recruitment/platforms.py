"""Which account on which platform a campaign runs with."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import Environment, PlatformIdentity
from recruitment.marketplace import Abilities, Marketplace, NotConfigured
from recruitment.models import Campaign


def marketplace_of(campaign: Campaign, *, is_quick: bool = False) -> Marketplace:
    """The platform of a campaign, with the credentials of its environment. Raises ``NotConfigured``.

    ``is_quick``: while somebody waits for a page, it is asked once and given a few seconds.
    """
    return marketplace(campaign.platform, campaign.environment, is_quick=is_quick)


def abilities_of(platform: str, environment: str) -> Abilities:
    """What a platform can do in an environment, whether or not there is an account on it."""
    if platform == PlatformIdentity.Platform.MTURK:
        from recruitment.mturk import abilities as mturk

        return mturk.abilities(settings.MTURK[environment]["endpoint"])
    from recruitment.prolific import abilities as prolific

    return prolific.abilities()


def marketplace(platform: str, environment: str, *, is_quick: bool = False) -> Marketplace:
    """A platform in one environment. Raises ``NotConfigured`` where the settings hold no credentials.

    Adapters are imported when they are wanted: boto3 alone takes longer to load than all of this room.
    """
    if platform == PlatformIdentity.Platform.MTURK:
        from recruitment.mturk.marketplace import MechanicalTurk

        account = settings.MTURK[environment]
        if environment == Environment.REHEARSAL:
            _refuse_live_endpoint(account)
        return MechanicalTurk(
            environment=environment,
            key_id=account["key_id"],
            secret=account["secret"],
            endpoint=account["endpoint"],
            topic=account.get("notification_topic", ""),
            is_quick=is_quick,
        )
    if platform == PlatformIdentity.Platform.PROLIFIC:
        from recruitment.prolific.marketplace import Prolific

        account = settings.PROLIFIC[environment]
        if environment == Environment.REHEARSAL:
            _refuse_live_account(account)
        return Prolific(
            environment=environment,
            token=account["token"],
            workspace=account["workspace"],
            project=account["project"],
            api=account["api"],
            is_quick=is_quick,
            signs_addresses=settings.PROLIFIC_SIGNED_ADDRESSES[environment],
        )
    raise ValueError(f"{platform} is no platform on which campaigns run.")


def _refuse_live_endpoint(rehearsal: dict[str, str]) -> None:
    """An endpoint of one's own has no sandbox: a rehearsal there with the live key would pay real people."""
    from recruitment.mturk.environments import is_amazon, site_of

    live = settings.MTURK[Environment.LIVE]
    is_one_place = site_of(rehearsal["endpoint"]) == site_of(live["endpoint"])
    if is_one_place and not is_amazon(live["endpoint"]) and rehearsal["key_id"] == live["key_id"]:
        raise NotConfigured(
            _("%s is the live one: a rehearsal would spend its money. Use a key or an endpoint of its own.")
            % "MTURK_REHEARSAL_ACCESS_KEY_ID"
        )


def _refuse_live_account(rehearsal: dict[str, str]) -> None:
    """Prolific has no sandbox: a rehearsal with the live workspace or token would pay real people."""
    live = settings.PROLIFIC[Environment.LIVE]
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
