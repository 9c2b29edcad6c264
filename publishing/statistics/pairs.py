"""Agreement of every two people, by the F1 of their answers. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from math import fsum
from typing import Any

from publishing.statistics.answered import ALL, OVERALL, Answered, mean
from publishing.statistics.intervals import rounded


def pairwise_f1(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return agreement as the mean of the macro-averaged F1 of every two people with questions in common.

    Of one pair, an option that either chose has F1 = 2 · both / (first + second): twice how often both chose
    it on a question, by how often each chose it. It does not matter which of the two counts as right. The
    pair's score is the mean over these options (van Rijsbergen 1979, "Information Retrieval", chapter 7, as
    scikit-learn computes it), and the agreement the arithmetic mean over pairs, as OpenToM (Xu et al. 2024)
    reports it. Options are told apart by their keys.
    """
    both: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    given: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for question in answered:
        for (one, first), (other, second) in combinations(sorted(question.chosen.items()), 2):
            for kind in (question.row.kind, OVERALL):
                given[kind, one, other].update((first, second))
                both[kind, one, other].update((first,) if first == second else ())
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for pair, options in given.items():
        each = [2 * both[pair][option] / times for option, times in options.items()]
        scores[pair[0]].append(fsum(each) / len(each))
    questions = Counter(one.row.kind for one in answered) + Counter({OVERALL: len(answered)})
    entries = {
        kind: {
            "questions": number,
            "pairs": len(scores[kind]),
            "macro_f1": rounded(mean(scores[kind])),
            "lowest": rounded(min(scores[kind], default=None)),
            "highest": rounded(max(scores[kind], default=None)),
        }
        for kind, number in sorted(questions.items())
    }
    overall = entries.pop(OVERALL, None)
    return {"kinds": entries, **({ALL: overall} if overall else {})}
