"""A simulated crowd: annotators of a given skill and speed who work over real HTTP, drawn from a seed.

It fills the demo's study and drives the end-to-end test. It only visits servers on this machine, and
only test runs; see ``manage.py simulate --help``.
"""
