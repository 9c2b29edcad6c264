"""Sending of alerts: mails and signed webhooks. The outbox is in ``annotation.actions.alerts``."""
