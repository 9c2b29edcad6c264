"""What programs may ask for, under ``/api/v1/``: the same actions and figures that the pages have.

Whoever asks brings a token (``annotation.models.ApiToken``). There is no session, no cookie and no page:
every answer is JSON or a stream of rows, and every refusal says what is wrong
(:mod:`dashboard.api.problems`).
"""
