from allauth.account.admin import EmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.back_office import ReadOnlyAdmin, show
from accounts.models import Annotator, ForgottenIdentity, PlatformIdentity, User

admin.site.unregister(
    [Group, EmailAddress, Authenticator, UserSession, SocialAccount, SocialApp, SocialToken]
)


@admin.register(User)
class ResearcherAdmin(UserAdmin, ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(EmailAddress)
class AddressAdmin(EmailAddressAdmin, ModelAdmin):
    """Addresses of researchers. An administrator can confirm one."""


class RemovableAdmin(ReadOnlyAdmin):
    """Admin of rows that an administrator may delete: a lost second factor, a connection to a provider."""

    has_delete_permission = ModelAdmin.has_delete_permission


show(Authenticator, "user", "type", "created_at", "last_used_at", exclude=("data",), base=RemovableAdmin)
show(SocialAccount, "user", "uid", "date_joined", exclude=("extra_data",), base=RemovableAdmin)
show(Annotator, "id", "created_at", "erased_at")
show(
    PlatformIdentity,
    "id",
    "annotator",
    "platform",
    "environment",
    "created_at",
    list_filter=("platform", "environment"),
)
show(ForgottenIdentity, "day", list_display_links=None)
