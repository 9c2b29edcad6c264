"""The Django project: settings, addresses, Celery and the embedded servers. No domain code."""

import gc
import os
from pathlib import Path

import environ

gc.set_threshold(50_000, 20, 50)  # searching for garbage was a seventh of the start of every process
# Every entry point (manage.py, granian, celery) imports this package first.
environ.Env.read_env(os.environ.get("TOMANNOT_ENV_FILE", Path(__file__).parents[1] / ".env"))
