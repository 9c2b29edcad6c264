"""In which of a study's groups on platforms a person is. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import PlatformIdentity
from annotation.models import Enrollment
from recruitment.models import Campaign, Grant

OUT = (Grant.State.LEAVING, Grant.State.LEFT)


@dataclass(frozen=True, slots=True)
class Membership:
    """A person and one of the groups. ``grant`` is None for somebody who was never put into it."""

    campaign: Campaign
    kind: Grant.Kind
    grant: Grant | None

    @property
    def is_member(self) -> bool:
        """Whether they are in it, or are being put into it."""
        return self.grant is not None and self.grant.state not in OUT


def memberships_of(person: Enrollment) -> list[Membership]:
    """The groups of the study on the platforms that the person came from; none where there are none."""
    platforms = PlatformIdentity.objects.filter(annotator=person.annotator_id, environment=person.environment)
    campaigns = Campaign.objects.filter(
        study=person.study_id, platform__in=platforms.values("platform")
    ).order_by("number")
    newest = {campaign.platform: campaign for campaign in campaigns if campaign.qualified_group}
    grants = {(given.platform, given.kind): given for given in _grants(person)}
    return [
        Membership(campaign, kind, grants.get((campaign.platform, kind)))
        for campaign in newest.values()
        for kind in Grant.Kind
        if kind == Grant.Kind.QUALIFIED or campaign.incomplete_group
    ]


def _grants(person: Enrollment) -> list[Grant]:
    return list(Grant.objects.filter(study=person.study_id, annotator=person.annotator_id))
