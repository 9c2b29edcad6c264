"""Prolific: its REST API, signed study addresses, webhooks, and what it forbids.

Facts are from Prolific's API reference and help pages as of November 2026. ``marketplace`` is the
adapter, ``client`` speaks HTTP, ``payloads`` says what we send, ``review`` reads submissions and pays.
"""
