"""A double of Amazon Mechanical Turk, which closed on 2026-09-30: what can still prove that we speak to it.

``server.MTurkDouble`` is the way in. Requests and answers are checked against botocore's service model; the
rules behind them are those of the documentation and of public issue threads.
"""
