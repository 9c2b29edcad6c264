"""The link by which somebody comes into a study, and which invitation a link stands for."""

from __future__ import annotations

from django.urls import reverse
from django.utils.crypto import constant_time_compare

from annotation.models import Invitation
from annotation.tokens import InvalidToken, InvitationClaim, invitation_token, read_invitation_token
from recruitment.links import absolute


def invitation_link(invitation: Invitation) -> str:
    """The address, absolute. Whoever has it can accept the invitation."""
    token = invitation_token(InvitationClaim(invitation.pk, invitation.nonce))
    return absolute(reverse("dashboard:invited", kwargs={"token": token}))


def invitation_of(token: str) -> Invitation:
    """The invitation whose link has this token. Raises ``annotation.tokens.InvalidToken``."""
    claim = read_invitation_token(token)
    found = Invitation.objects.select_related("study", "invited_by").filter(pk=claim.invitation_id).first()
    if found is None or not constant_time_compare(found.nonce, claim.nonce):
        raise InvalidToken
    return found
