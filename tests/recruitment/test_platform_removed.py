"""A platform is one folder and one line: without both, everything else works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from recruitment.platforms import PLATFORMS
from tests import builders
from tests.conftest import PROJECT
from tests.recruitment.campaigns import make_campaign

LINE = '    "mturk": "recruitment.mturk.platform",\n'
NOT_THE_PRODUCT = ("tests", "bench", "docs", "var", ".*", "__pycache__", "node_modules")
VISIT = """
import django
django.setup()
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver, reverse
from accounts.models import User
from recruitment.models import Campaign

call_command("check")
assert get_resolver().reverse_dict is not None
assert Client().post("/hooks/prolific/live/").status_code == 403
assert Client().post("/hooks/mturk/live/").status_code == 404
campaign = Campaign.objects.select_related("study").get()
study = campaign.study.slug
client = Client()
client.force_login(User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
for name, more in (
    ("recruitment", {}),
    ("campaign", {"number": campaign.number}),
    ("submissions", {"number": campaign.number}),
    ("new_campaign", {"platform": "prolific", "purpose": "stories"}),
):
    response = client.get(reverse(f"dashboard:{name}", kwargs={"slug": study, **more}))
    assert response.status_code == 200, (name, response.status_code)
    assert "Mechanical Turk" not in response.content.decode(), name
path = reverse("dashboard:new_campaign", kwargs={"slug": study, "platform": "mturk", "purpose": "test"})
assert client.get(path).status_code == 404
refused = Client().get(reverse("recruitment:campaign", kwargs={"slug": study, "number": campaign.number}))
assert refused.status_code in (400, 403), refused.status_code
print("all of it works")
"""


@pytest.mark.django_db
@pytest.mark.usefixtures("client")
def test_without_mechanical_turks_line_its_campaigns_and_pages_are_gone(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That nothing else imports a platform's folder is among the contracts of imports."""
    monkeypatch.delitem(PLATFORMS, "mturk")
    make_campaign(builders.make_study(stories=1), platform="prolific", currency="GBP")
    for name, more in (
        ("recruitment", []),
        ("campaign", [1]),
        ("submissions", [1]),
        ("new_campaign", ["prolific", "stories"]),
    ):
        page = admin_client.get(reverse(f"dashboard:{name}", args=["study", *more]))
        assert page.status_code == 200, name
        assert "Mechanical Turk" not in page.content.decode(), name
    gone = reverse("dashboard:new_campaign", args=["study", "mturk", "test"])
    assert admin_client.get(gone).status_code == 404
    assert Client().post("/hooks/mturk/live/").status_code == 404


@pytest.mark.torture  # a copy of the whole site, in a process of its own
@pytest.mark.usefixtures("collected_static")
def test_without_mechanical_turks_folder_and_its_line_the_rest_works(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(PROJECT, site, ignore=shutil.ignore_patterns(*NOT_THE_PRODUCT))
    shutil.rmtree(site / "recruitment" / "mturk")
    registry = site / "recruitment" / "platforms.py"
    text = registry.read_text()
    assert text.count(LINE) == 1
    registry.write_text(text.replace(LINE, ""))
    make_campaign(
        builders.make_study(stories=3),
        platform="prolific",
        currency="GBP",
        seats_per_posting=9,
        stories_per_visit=2,
    )
    User.objects.create_superuser("rosa", password=None)

    environment = child_environment | {"DJANGO_SETTINGS_MODULE": "tomannot.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", VISIT],
        cwd=site,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert ran.stdout.strip().endswith("all of it works"), ran.stderr
