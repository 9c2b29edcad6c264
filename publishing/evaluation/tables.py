"""The results as tables in Markdown and LaTeX, and as a chart. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from publishing.card.citation import REHEARSAL_WARNING
from publishing.card.figures import accuracies, bar_chart
from publishing.card.markdown import NOTHING, one_line, table, text

PEOPLE = "people"
CHANCE = 0.5
_NO_WIDER_THAN_THE_LINE = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_LATEX = re.compile(r"[\\&%$#_{}~^]")
_COMMANDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
Document = Mapping[str, Any]
Table = tuple[str, Sequence[Sequence[str]]]
"""A title, and rows of plain text; the first row is the head."""


def tables(found: Document) -> list[Table]:
    """Return the tables of an evaluation. All shares are per cent, with 95 % intervals in brackets."""
    return [one for one in (*_of_questions(found), *_of_votes(found["votes"])) if len(one[1]) > 1]


def _of_questions(found: Document) -> Iterator[Table]:
    models, configs, human = found["models"], found["configs"], found["human_baseline"]
    people = [[PEOPLE, *(_share(human.get(config)) for config in configs)]] if human else []
    for title, key, more in (
        ("Right answers", "", []),
        ("Right answers to hard questions", "hard_questions", []),
        ("Right answers to the questions that people answered, too", "questions_of_people", people),
    ):
        scores = {name: [model["configs"][config] for config in configs] for name, model in models.items()}
        rows = [[name, *(_share(one[key] if key else one) for one in of)] for name, of in scores.items()]
        if any(cell != NOTHING for row in rows for cell in row[1:]):
            yield title, [["model", *configs], *rows, *more]
    whole = [[name, _share(model["all_questions"])] for name, model in models.items()]
    yield "Stories with all questions answered rightly", [["model", "stories"], *whole]
    pairs = list(combinations(configs, 2))
    for title, key, value, named in (
        ("Right answers where the easier question was right", "if_easier_is_right", _share, "{1} if {0}"),
        ("Gap between easier and harder questions", "gaps", _difference, "{0} minus {1}"),
    ):
        shown = [[name, *map(value, model[key])] for name, model in models.items() if pairs]
        yield title, [["model", *(named.format(*pair) for pair in pairs)], *shown]
    for config in configs:
        for group in ("scenario", "severity"):
            of_models = [model["configs"][config][f"by_{group}"] for model in models.values()]
            rows = [[name, *(_share(one[name]) for one in of_models)] for name in (of_models or [{}])[0]]
            yield f"{config} by {group}", [[group, *models], *rows]
    rows = [
        [f"{one['config']}: {' minus '.join(one['models'])}", _difference(one)]
        for one in found["comparisons"]
    ]
    yield "Models compared on the same questions", [["", "difference"], *rows]


def _of_votes(votes: Document) -> Iterator[Table]:
    shares = {"annotators": "annotators", "model": "model", "at_least_as_close": "at least as close"}
    for name, found in votes.items():
        rows = [
            [key, *(_share(one[share]) for share in shares), _difference(one)] for key, one in found.items()
        ]
        head = ["question", *shares.values(), "model minus annotators"]
        yield f"Agreement with the other annotators: {name} as one more", [head, *rows]


def markdown(found: Document) -> str:
    release = found["release"]
    parts = [REHEARSAL_WARNING] if release["environment"] == "rehearsal" else []
    parts.append(
        f"Release {release['number']} of {text(release['study'])}, MANIFEST `{release['manifest_sha256']}`. "
        "Per cent, with 95 % intervals."
    )
    for title, (head, *body) in tables(found):
        shown = table(list(map(text, head)), [[text(row[0]), *row[1:]] for row in body])
        parts.append(f"**{text(title)}**\n\n{shown}")
    return "\n\n".join(parts) + "\n"


def latex(found: Document) -> str:
    """Return all tables in LaTeX, for the packages booktabs and graphicx. One wider than a column shrinks."""
    release = found["release"]
    parts = [
        f"% Release {release['number']} of {one_line(release['study'])}, "
        f"MANIFEST {release['manifest_sha256']}"
    ]
    for title, rows in tables(found):
        head, *body = [" & ".join(map(_escaped, row)) + r" \\" for row in rows]
        caption = rf"\caption{{{_escaped(title)} (\%, with 95\,\% intervals).}}"
        begin = rf"\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}"
        lines = [r"\begin{table}\centering", caption, _NO_WIDER_THAN_THE_LINE, begin, r"\toprule", head]
        lines += [r"\midrule", *body, r"\bottomrule", r"\end{tabular}}", r"\end{table}"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def chart(found: Document) -> bytes:
    """Draw the right answers of every model and of people, by question set."""
    groups = []
    for config in found["configs"]:
        scores = {name: model["configs"][config] for name, model in found["models"].items()}
        people = found["human_baseline"].get(config)
        groups.append(accuracies(config, scores | ({PEOPLE: people} if people else {})))
    return bar_chart("Right answers (dashed: chance)", groups, mark=CHANCE)


def _share(score: Document | None) -> str:
    if score is None or score["n"] == 0:
        return NOTHING
    share = score["accuracy"] if "accuracy" in score else score["share"]
    return f"{100 * share:.1f}{_bounds(score['interval'])}"


def _difference(score: Document) -> str:
    if score["difference"] is None:
        return NOTHING
    return f"{100 * score['difference']:+.1f}{_bounds(score['interval'], '+')}"


def _bounds(bounds: Sequence[float] | None, sign: str = "") -> str:
    return f" [{100 * bounds[0]:{sign}.1f}, {100 * bounds[1]:{sign}.1f}]" if bounds else ""


def _escaped(text: str) -> str:
    return _LATEX.sub(lambda found: _COMMANDS.get(found[0], f"\\{found[0]}"), one_line(text)).replace(
        NOTHING, "--"
    )
