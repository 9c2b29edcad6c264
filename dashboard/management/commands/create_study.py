import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.models import User
from annotation.management.base import ActionCommand
from annotation.models import Story, Study
from dashboard import actions
from dashboard.settings.configuration import StudyConfiguration, read_configuration
from tomannot import clock


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--config", type=Path, metavar="FILE")
        parser.add_argument("--title")
        parser.add_argument("--contact", metavar="EMAIL")
        parser.add_argument("--owner", metavar="NAME")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        config, owner = self._configuration(options), self._owner(options["owner"])
        study = actions.create_study(slug=options["slug"], config=config, by=owner, now=clock.now())
        self._say(study, as_json=options["json"])

    def _owner(self, name: str | None) -> User | None:
        if not name:
            return None
        owner = User.objects.filter(username=name, is_active=True).first()
        if owner is None:
            raise CommandError(f"There is no account “{name}”. The first: manage.py createsuperuser.")
        return owner

    def _configuration(self, options: dict[str, Any]) -> StudyConfiguration:
        if options["config"]:
            if options["title"] or options["contact"]:
                raise CommandError("Give --title and --contact in the configuration file.", returncode=2)
            return read_configuration(options["config"])
        title = options["title"] or options["slug"].replace("-", " ").capitalize()
        return actions.default_configuration(
            title=title, contact=options["contact"] or settings.DEFAULT_FROM_EMAIL
        )

    def _say(self, study: Study, *, as_json: bool) -> None:
        stories = {role.value: study.stories.filter(role=role).count() for role in Story.Role}
        if as_json:
            facts: dict[str, Any] = {"slug": study.slug, "state": study.state, "stories": stories}
            facts |= {"votes_per_story": study.votes_per_story, "contact": study.contact}
            self.stdout.write(json.dumps(facts))
            return
        self.stdout.write(self.text(study=study, stories=stories))
