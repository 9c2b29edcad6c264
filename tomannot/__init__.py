"""The Django project: settings, addresses, Celery and the embedded servers. No domain code."""

from tomannot.celery import app as celery_app
