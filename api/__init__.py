"""The API for programs under ``/api/v1/``: the same actions and figures as on the researchers' pages.

Clients authenticate with a token (``annotation.models.ApiToken``), never by session or cookie. Every
answer is JSON or a stream of rows, and every refusal explains itself (:mod:`api.problems`).
"""
