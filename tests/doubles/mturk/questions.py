"""The XML of the protocol: the ExternalQuestion that comes in, the answers that go out."""

from __future__ import annotations

from urllib.parse import urlsplit
from xml.etree import ElementTree

from tests.doubles.mturk import errors

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL_QUESTION = f"{{{SCHEMAS}/2006-07-14/ExternalQuestion.xsd}}"
ANSWERS = f"{SCHEMAS}/2005-10-01/QuestionFormAnswers.xsd"
MOST_BYTES = 65_535
LOOPBACK = ("127.0.0.1", "localhost", "testserver")
"""Here the page may come without TLS, which MTurk itself never allows: it is only a double."""


def external_url(question: str) -> str:
    """The address in an ExternalQuestion, after everything that the schema and MTurk ask of it."""
    if len(question.encode()) > MOST_BYTES:
        raise errors.invalid_value("Question", "longer than 65535 bytes")
    try:
        root = ElementTree.fromstring(question)  # noqa: S314 - only what our own tests send
    except ElementTree.ParseError as error:
        message = f"There was an error parsing the XML question or answer data in your request. {error}"
        raise errors.request_error("XMLParseError", message) from None
    tags = [root.tag, *(child.tag for child in root)]
    if tags != [EXTERNAL_QUESTION + tag for tag in ("ExternalQuestion", "ExternalURL", "FrameHeight")]:
        raise errors.request_error("XMLParseError", f"The elements {tags} are no ExternalQuestion.")
    url, height = ((child.text or "").strip() for child in root)
    if not height.isdecimal():
        raise errors.invalid_value("FrameHeight", height)
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise errors.invalid_value("ExternalURL", url)
    return url


def form_answers(fields: dict[str, str]) -> str:
    """QuestionFormAnswers with a FreeText for every field of the form."""
    ElementTree.register_namespace("", ANSWERS)
    root = ElementTree.Element(f"{{{ANSWERS}}}QuestionFormAnswers")
    for name, value in fields.items():
        answer = ElementTree.SubElement(root, f"{{{ANSWERS}}}Answer")
        ElementTree.SubElement(answer, f"{{{ANSWERS}}}QuestionIdentifier").text = name
        ElementTree.SubElement(answer, f"{{{ANSWERS}}}FreeText").text = value
    written: bytes = ElementTree.tostring(root, encoding="ASCII", xml_declaration=True)
    return written.decode("ascii")
