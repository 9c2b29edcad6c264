"""Clients of the double: an unmodified boto3, and our own adapter on top of one."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from recruitment.mturk.marketplace import MechanicalTurk
from tests.doubles.mturk.server import KEY_ID, REGION, SECRET, MTurkDouble


def client_for(double: MTurkDouble, *, key_id: str = KEY_ID, attempts: int = 1) -> Any:
    """A client; with one attempt every fault is seen, with boto3's own three most are hidden."""
    retries = {"mode": "standard", "total_max_attempts": attempts}
    return boto3.client(
        "mturk",
        endpoint_url=double.url,
        region_name=REGION,
        aws_access_key_id=key_id,
        aws_secret_access_key=SECRET,
        config=Config(retries=retries, connect_timeout=5, read_timeout=20),
    )


def marketplace_for(double: MTurkDouble, *, attempts: int = 1, topic: str = "") -> MechanicalTurk:
    """Our own adapter, pointed at the double and living by its clock."""
    return MechanicalTurk(
        environment="rehearsal" if double.world.environment == "sandbox" else "live",
        key_id=KEY_ID,
        secret=SECRET,
        endpoint=double.url,
        topic=topic,
        retries={"mode": "standard", "total_max_attempts": attempts},
        now=double.world.now,
    )
