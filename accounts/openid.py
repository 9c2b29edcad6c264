"""Signing in with an OpenID Connect provider (``settings.OPENID_ISSUER``) through django-allauth.

django-allauth lets a provider sign people up, believes tokens that came over TLS without looking at their
signature, and sends no nonce. Here nobody is signed up, and every token is checked (ADR 0045).
"""

import hashlib
import logging
from typing import Any

import jwt
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from requests import RequestException

logger = logging.getLogger(__name__)
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
SECONDS = 5


class KnownAccountsOnly(DefaultSocialAccountAdapter):
    """Let in known accounts only: connected before, or with the address that the provider has verified."""

    def authenticate_by_email(self, sociallogin: SocialLogin) -> Any:
        """Return the account that has confirmed one of the verified addresses."""
        given = [one.email.lower() for one in sociallogin.email_addresses if one.verified]
        known = EmailAddress.objects.filter(email__in=given, verified=True).select_related("user").first()
        return (known.user, known.email) if known else None

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        text = _("No account here has confirmed the address that your provider has verified.")
        raise ImmediateHttpResponse(refused(request, text, status=403))

    def on_authentication_error(self, request: HttpRequest, *_args: Any, **_named: Any) -> None:
        raise ImmediateHttpResponse(refused(request, _("The provider did not vouch for you."), status=401))


def refused(request: HttpRequest, text: str, *, status: int) -> HttpResponse:
    return render(request, "accounts/not_let_in.html", {"text": text}, status=status)


def nonce_of(verifier: str) -> str:
    """Return the nonce that belongs to this request for a token, and does not reveal its PKCE verifier."""
    return hashlib.sha256(f"nonce {verifier}".encode()).hexdigest()


class CheckedTokens(OpenIDConnectOAuth2Adapter):
    """Reads people from signed ID tokens, and from nothing else."""

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("openid", kwargs={"step": "back"}))

    def get_access_token_data(self, request: HttpRequest, app: Any, client: Any, **pkce: str) -> Any:
        self.nonce = nonce_of(pkce["pkce_code_verifier"])
        return super().get_access_token_data(request, app, client, **pkce)

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **answer: Any) -> SocialLogin:
        """Check signature, issuer, audience, time and nonce. Raise ``OAuth2Error``."""
        signed = answer["response"].get("id_token", "")
        try:
            keys = jwt.PyJWKClient(self.openid_config["jwks_uri"], timeout=SECONDS)
            claims = jwt.decode(
                signed,
                keys.get_signing_key_from_jwt(signed),
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=settings.OPENID_ISSUER,
                options={"require": ["exp", "iat", "sub", "nonce"]},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error from error
        if claims["nonce"] != self.nonce or self.openid_config.get("issuer") != settings.OPENID_ISSUER:
            raise OAuth2Error
        return self.get_provider().sociallogin_from_response(request, {"id_token": claims})


class Provider(OpenIDConnectProvider):
    oauth2_adapter_class = CheckedTokens

    def redirect(self, request: HttpRequest, process: str, next_url: Any = None, **_more: Any) -> Any:
        """Lead to the provider to sign in, whatever else the address asks for."""
        return super().redirect(request, "login", next_url)

    def get_pkce_params(self) -> dict[str, str]:
        params: dict[str, str] = super().get_pkce_params()
        return params | {"nonce": nonce_of(params["code_verifier"])}

    def extract_email_addresses(self, data: Any) -> list[EmailAddress]:
        """Return the address only if the provider has verified it."""
        claims = data["id_token"]
        is_verified = claims.get("email_verified") is True and isinstance(claims.get("email"), str)
        return [EmailAddress(email=claims["email"], verified=True)] if is_verified else []

    def extract_extra_data(self, data: Any) -> dict[str, Any]:
        return {}  # nothing about the person is kept


registry.register(Provider)
VIEWS = {"go": OAuth2LoginView, "back": OAuth2CallbackView}


def sign_in_step(request: HttpRequest, step: str) -> HttpResponse:
    """Go to the provider, or receive those who come back."""
    provider = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["provider_id"]
    try:
        response: HttpResponse = VIEWS[step].adapter_view(CheckedTokens(request, provider))(request)
    except (RequestException, KeyError):
        logger.exception("The OpenID Connect provider does not answer as one: manage.py doctor says more.")
        return refused(request, _("The provider does not answer. Try again in a while."), status=503)
    return response
