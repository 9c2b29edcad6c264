"""The XML that passes between us and Mechanical Turk: our page's address there, the receipt back."""

from xml.etree import ElementTree

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
    except ElementTree.ParseError:
        return ""
    names = {"a": ANSWERS}
    for field in root.iterfind("a:Answer", names):
        if field.findtext("a:QuestionIdentifier", "", names).strip() == RECEIPT_FIELD:
            return field.findtext("a:FreeText", "", names).strip()[:LONGEST]
    return ""
