from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin import apps as admin_apps

from tomannot.migrating import render_less


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True

    def ready(self) -> None:
        render_less()
        if settings.OPENID_ISSUER:
            import_module("accounts.openid")  # registers the provider


class BackOfficeConfig(admin_apps.AdminConfig):
    """Django's admin with our site class; replaces ``django.contrib.admin``."""

    default = False
    default_site = "accounts.back_office.BackOfficeSite"
