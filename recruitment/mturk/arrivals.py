"""Read the address with which Mechanical Turk opens our page, and write the form that hands work in.

The parameters follow its API reference ("ExternalQuestion") and botocore's service model. Nothing is signed,
so a worker's form is sent to the address in ``turkSubmitTo`` only if the settings allow that site.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from xml.etree import ElementTree

from recruitment.arrival_rules import Arrival, ArrivalProblem, CannotArrive

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""The assignment's id while somebody only looks at a HIT."""
ASSIGNMENT, HIT, WORKER, SUBMIT_TO = "assignmentId", "hitId", "workerId", "turkSubmitTo"
SUBMIT_PATH = "/mturk/externalSubmit"
ENTITY = re.compile(r"[A-Z0-9]{1,64}")
_WORKER = re.compile(r"A[A-Z0-9]{1,63}")


def is_preview(parameters: Mapping[str, Sequence[str]]) -> bool:
    """Return True if somebody looks at the HIT without having accepted it. Rely on nothing else then."""
    return list(parameters.get(ASSIGNMENT, ())) == [NOT_ACCEPTED]


def read_mturk(parameters: Mapping[str, Sequence[str]], *, submit_sites: Collection[str]) -> Arrival:
    """Return the arrival with an accepted HIT. Raise :class:`CannotArrive`.

    ``submit_sites`` are the origins (``https://www.mturk.com``) to which work may be handed in.
    """
    if not any(name in parameters for name in (ASSIGNMENT, HIT, WORKER)):
        raise CannotArrive(ArrivalProblem.NO_IDS)
    assignment, hit, worker = (_only(parameters, name) for name in (ASSIGNMENT, HIT, WORKER))
    if not (ENTITY.fullmatch(assignment) and ENTITY.fullmatch(hit) and _WORKER.fullmatch(worker)):
        raise CannotArrive(ArrivalProblem.WRONG_IDS)
    submit_to = _only(parameters, SUBMIT_TO).rstrip("/")
    if submit_to not in {site.rstrip("/") for site in submit_sites}:
        raise CannotArrive(ArrivalProblem.FOREIGN_SITE)
    return Arrival(assignment, hit, worker, submit_to)


def submit_address(submit_to: str) -> str:
    """Return the address to which a browser posts the work."""
    return f"{submit_to.rstrip('/')}{SUBMIT_PATH}"


def _only(parameters: Mapping[str, Sequence[str]], name: str) -> str:
    """Return a parameter's value, or "" if it is missing or repeated."""
    values = parameters.get(name, ())
    return values[0] if len(values) == 1 else ""


SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{SCHEMAS}/2006-07-14/ExternalQuestion.xsd"
LONGEST = 40
"""Characters of what comes back as a receipt that are kept. Ours have fewer: a longer one stays wrong."""
ANSWERS = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"
RECEIPT_FIELD = "receipt"
"""The field of our form, besides ``assignmentId``, that goes to Mechanical Turk when work is handed in."""


def external_question(url: str) -> str:
    """Return the ExternalQuestion that shows the page at ``url`` in a frame as high as the worker's window.

    Mechanical Turk appends ``assignmentId``, ``hitId``, ``turkSubmitTo`` and ``workerId`` to the address and
    keeps the parameters that it has.
    """
    root = ElementTree.Element("ExternalQuestion", xmlns=EXTERNAL_QUESTION)
    ElementTree.SubElement(root, "ExternalURL").text = url
    ElementTree.SubElement(root, "FrameHeight").text = "0"
    return ElementTree.tostring(root, encoding="unicode")


def receipt_in(answer: str) -> str:
    """Return our receipt in the QuestionFormAnswers of a submission; empty when there is none.

    Whatever a browser sent comes back here, so nothing in it is taken to be well formed.
    """
    if "<!DOCTYPE" in answer:  # Mechanical Turk writes none; entities are declared there
        return ""
    try:
        root = ElementTree.fromstring(answer)  # noqa: S314 - without a DOCTYPE there are no entities
    except (ElementTree.ParseError, ValueError):  # half a surrogate pair is the latter
        return ""
    names = {"a": ANSWERS}
    for field in root.iterfind("a:Answer", names):
        if field.findtext("a:QuestionIdentifier", "", names).strip() == RECEIPT_FIELD:
            return field.findtext("a:FreeText", "", names).strip()[:LONGEST]
    return ""
