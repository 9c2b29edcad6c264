"""Addresses that people are sent."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from accounts.models import PlatformIdentity
from annotation.models import Enrollment
from annotation.tokens import VisitClaim, address_token, personal_token, visit_token
from recruitment.models import Campaign, JoinLink, Visit


def personal_path(enrollment: Enrollment) -> str:
    """Return a person's own link as a path on this site."""
    token = personal_token(enrollment.pk, enrollment.link_key)
    return reverse("recruitment:arrive", kwargs={"token": token})


def personal_link(enrollment: Enrollment) -> str:
    """Return a person's own link to a study, absolute. It can be sent again until it is revoked."""
    return absolute(personal_path(enrollment))


def visit_path(visit: Visit, *, is_claimed: bool = False, page: str = "home") -> str:
    """Return the path where a visit begins. ``is_claimed``: the person only claims to be who they are."""
    key = visit.enrollment.link_key
    claim = VisitClaim(visit.enrollment_id, visit.pk, key, visit.session_id, is_claimed)
    return reverse(f"annotation:{page}", kwargs={"token": visit_token(claim)})


def campaign_address(campaign: Campaign) -> str:
    """Return the address that a platform is given for its people, to which it adds their ids."""
    names = {"slug": campaign.study.slug, "number": campaign.number}
    return absolute(reverse("recruitment:campaign", kwargs=names))


def confirming_link(identity: PlatformIdentity) -> str:
    """Return the link by which people confirm an e-mail address as theirs."""
    return absolute(reverse("link:confirm", kwargs={"token": address_token(identity.pk, identity.person)}))


def join_address(link: JoinLink, participant: str = "") -> str:
    """Return the join link for the platform, or with ``participant`` that participant's own address."""
    address = absolute(reverse("recruitment:join", kwargs={"slug": link.study.slug}))
    adds_it = link.adds_parameter and not participant
    return address if adds_it else f"{address}?{link.parameter}={participant or link.placeholder}"


def absolute(path: str) -> str:
    """Return a path of this site as the address that people are sent."""
    public = urlsplit(settings.PUBLIC_URL)
    return f"{public.scheme}://{public.netloc}{path}"
