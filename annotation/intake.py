"""Questions that a study may ask people about themselves, each with "prefer not to say". Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

FEWEST_IN_GROUP = 5
AI_TOOLS = "ai_tools"


class IntakeQuestion(NamedTuple):
    """A question; its options by key. What is stored matches ``pattern``, or is empty: not said.

    It is asked once, after the consent text, or ``at_end`` of the work: then it can be answered again.
    """

    label: Any
    options: Mapping[str, Any]
    pattern: str
    at_end: bool = False


def _of(label: Any, options: Mapping[str, Any], pattern: str = "") -> IntakeQuestion:
    return IntakeQuestion(label, options, f"^({pattern or '|'.join(options)})$")


def _listed(file: str) -> dict[str, str]:
    """Return the names of a list by their codes of ISO 3166-1 or ISO 639."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return {code: name for code, _space, name in (line.partition(" ") for line in lines)}


QUESTIONS: Mapping[str, IntakeQuestion] = {
    "age": _of(_("How old are you?"), {
        "18-24": "18–24", "25-34": "25–34", "35-44": "35–44", "45-54": "45–54", "55-64": "55–64",
        "65+": "65+",
    }, "[0-9]{2}(-[0-9]{2}|[+])"),
    "first_language": _of(_("What is your first language?"), {
        **_listed("languages.txt"), "mul": _("several"), "mis": _("another one"),
    }, "[a-z]{2,3}"),
    "gender": _of(_("What is your gender?"), {
        "woman": _("woman"), "man": _("man"), "another": _("another one"),
    }),
    "education": _of(_("What is the highest level of education that you have finished?"), {
        "school": _("school"), "vocational": _("vocational training"), "bachelor": _("bachelor’s degree"),
        "master": _("master’s degree"), "doctorate": _("doctorate"),
    }),
    "country": _of(_("In which country do you live?"), _listed("countries.txt"), "[A-Z]{2}"),
    AI_TOOLS: _of(_("Did you use an AI tool, such as a chatbot, for any of your answers?"), {
        "none": _("not at all"), "some": _("for some"), "most": _("for most"),
    })._replace(at_end=True),
}  # fmt: skip
REST = "other or not said"


def grouped(counts: Mapping[str, int], least: int) -> dict[str, int]:
    """Return the people by option in groups of at least ``least``; none if there are not two such groups.

    Smaller groups, and those who did not say, are merged. While the merged group is too small, the smallest
    other group joins it, because it could be computed as what is missing from the whole. One group alone
    would tell what everybody said.
    """
    kept = {option: people for option, people in sorted(counts.items()) if option and people >= least}
    rest = sum(counts.values()) - sum(kept.values())
    while kept and 0 < rest < least:
        rest += kept.pop(min(kept, key=lambda option: kept[option]))
    groups = {**kept, **({REST: rest} if rest else {})}
    return groups if len(groups) > 1 else {}
