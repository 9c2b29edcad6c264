"""Hidden checks in a configuration file: their stories, what is accepted, how often, what comes of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from annotation.checks import CheckRules, problems
from dashboard.configuration.rounds import RoundReader
from dashboard.configuration.values import CheckConfiguration

RULE_FIELDS = [item.name for item in fields(CheckRules)]
CHECK_FIELDS = {*RULE_FIELDS, "stories", "key"}


class CheckReader(RoundReader):
    """Reads what a file says about hidden checks."""

    def _checks(self, data: Any) -> CheckConfiguration | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            self._problems.append("checks: must be an object with stories and key.")
            return None
        self._unknown(data, CHECK_FIELDS, "checks.")
        stories = self._round_stories(data.get("stories", ""), "checks.stories")
        return CheckConfiguration(
            rules=self._rules(data),
            stories=stories or (),
            acceptable=self._acceptable(data.get("key", {}), "checks.key"),
        )

    def _rules(self, data: dict[str, Any]) -> CheckRules:
        default = CheckRules()
        numbers = {
            name: self._number(data, name, getattr(default, name), least=0, where="checks.")
            for name in ("every", "minimum")
        }
        shares = {
            name: self._number(data, name, 0, where="checks.")
            for name in ("warn_percent", "suspend_percent")
            if data.get(name) is not None
        }
        rules = CheckRules(**numbers, **shares)
        self._problems += [f"checks.{name}: {problem}" for name, problem in problems(rules).items()]
        return rules
