"""The addresses people are sent."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from accounts.models import PlatformIdentity
from annotation.models import Enrollment
from annotation.tokens import LinkClaim, VisitClaim, address_token, personal_token, visit_token
from recruitment.models import Campaign, JoinLink, Visit


def personal_path(enrollment: Enrollment) -> str:
    """A person's own link as a path on this site."""
    claim = LinkClaim(enrollment.pk, enrollment.link_version)
    return reverse("recruitment:arrive", kwargs={"token": personal_token(claim)})


def personal_link(enrollment: Enrollment) -> str:
    """A person's own link to a study, absolute. It can be sent again until it is revoked."""
    return absolute(personal_path(enrollment))


def visit_path(visit: Visit, *, is_claimed: bool = False) -> str:
    """Where a visit begins, as a path on this site. ``is_claimed``: for who only says to be its person."""
    version = visit.enrollment.link_version
    claim = VisitClaim(visit.enrollment_id, visit.pk, version, visit.session_id, is_claimed)
    return reverse("annotation:home", kwargs={"token": visit_token(claim)})


def campaign_address(campaign: Campaign) -> str:
    """The address that a platform is given for its people, to which it adds who comes for what."""
    names = {"slug": campaign.study.slug, "number": campaign.number}
    return absolute(reverse("recruitment:campaign", kwargs=names))


def page_on_platform(platform: str, posting: str) -> str:
    """The researchers' page on the platform with all work at a posting; empty where there is none."""
    if platform != PlatformIdentity.Platform.PROLIFIC or not posting:
        return ""
    return f"https://app.prolific.com/researcher/workspaces/studies/{posting}/submissions"


def confirming_link(identity: PlatformIdentity) -> str:
    """The address that says: this e-mail address is mine."""
    return absolute(reverse("link:confirm", kwargs={"token": address_token(identity.pk)}))


def join_address(link: JoinLink) -> str:
    """The address to give to the platform, as it is to stand there: with its placeholder, if it has one."""
    address = absolute(reverse("recruitment:join", kwargs={"slug": link.study.slug}))
    return address if link.adds_parameter else f"{address}?{link.parameter}={link.placeholder}"


def join_address_of(link: JoinLink, participant: str) -> str:
    """The address under which somebody with this id comes."""
    address = absolute(reverse("recruitment:join", kwargs={"slug": link.study.slug}))
    return f"{address}?{link.parameter}={participant}"


def absolute(path: str) -> str:
    """A path of this site as the address that people are sent."""
    public = urlsplit(settings.PUBLIC_URL)
    return f"{public.scheme}://{public.netloc}{path}"
