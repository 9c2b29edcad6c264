"""Read model vendors' response objects: a completion's text, id, model, and how it ended.

Read: OpenAI's ``chat.completion`` (the shape that most servers imitate) and ``response`` objects, and
Anthropic's ``message``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotation.importing.rows import quote
from annotation.protocols.fields import MAX_NAME, UNREADABLE, Fields

_ACCEPTED = (
    "Give the whole response object of the model: an OpenAI “chat.completion” or “response”, or an Anthropic"
    " “message”."
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion. ``cut_off`` says why it stopped early, or is empty."""

    id: str
    model: str
    text: str
    cut_off: str = ""


def read_response(fields: Fields) -> list[Completion]:
    """Return the completions in the row's ``output``; note problems on ``fields``."""
    output = fields.structure("output")
    if output is UNREADABLE:
        return []
    if not isinstance(output, dict):
        fields.refuse("output", "The output is not a response object.", _ACCEPTED)
        return []
    error = output.get("error")
    if error:
        said = error.get("message") if isinstance(error, dict) else error
        fields.refuse("output", f"The output is an error: {quote(str(said), 200)}.", "Generate it again.")
        return []
    if isinstance(output.get("choices"), list):
        read = _read_chat_completion
    elif output.get("type") == "message" and isinstance(output.get("content"), list):
        read = _read_message
    elif output.get("object") == "response" and isinstance(output.get("output"), list):
        read = _read_openai_response
    else:
        kind = output.get("object") or output.get("type")
        shown = f"of the kind {quote(str(kind))}" if kind else f"with {quote(', '.join(output))}"
        fields.refuse("output", f"The response object is unknown: one {shown}.", _ACCEPTED)
        return []
    response_id = fields.check("output: id", _text(output.get("id")), 200)
    model = fields.check("output: model", _text(output.get("model")), MAX_NAME)
    return list(read(fields, output, response_id, model))


def _read_chat_completion(
    fields: Fields, output: dict[str, Any], response_id: str, model: str
) -> Iterator[Completion]:
    if not output["choices"]:
        fields.refuse("output: choices", "There is no choice in the response.", "Generate it again.")
    for index, choice in enumerate(output["choices"]):
        place = f"output: choices[{index}]"
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            fields.refuse(place, "The choice holds no message.", _ACCEPTED)
            continue
        reason = choice.get("finish_reason")
        stopped = reason in ("content_filter", "tool_calls")
        if _refused(fields, place, message.get("refusal"), stopped, reason):
            continue
        text = message.get("content")
        if not isinstance(text, str) or not text.strip():
            fields.refuse(place, "The message holds no text.", "Generate it again.")
            continue
        # The first choice has the response's own id, so that adding n > 1 later renames nothing.
        own_id = response_id if index == 0 else f"{response_id}/{index}"
        yield Completion(own_id, model, text, "finish_reason “length”" if reason == "length" else "")


def _read_message(
    fields: Fields, output: dict[str, Any], response_id: str, model: str
) -> Iterator[Completion]:
    reason = output.get("stop_reason")
    stopped = reason not in (None, "end_turn", "stop_sequence", *_CUT_OFF)
    if _refused(fields, "output", None, stopped, reason):
        return
    blocks = [block for block in output["content"] if isinstance(block, dict) and block.get("type") == "text"]
    cut_off = f"stop_reason “{reason}”" if reason in _CUT_OFF else ""
    yield from _one(fields, blocks, response_id, model, cut_off)


def _read_openai_response(
    fields: Fields, output: dict[str, Any], response_id: str, model: str
) -> Iterator[Completion]:
    parts = [
        part
        for item in output["output"]
        if isinstance(item, dict) and item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict)
    ]
    refusal = next((part.get("refusal") for part in parts if part.get("type") == "refusal"), None)
    status = output.get("status")
    details = output.get("incomplete_details")
    why = details.get("reason") if isinstance(details, dict) else None
    cut_off = f"status “incomplete”, {why}" if why == "max_output_tokens" else ""
    stopped = status not in (None, "completed") and not cut_off
    if _refused(fields, "output", refusal, stopped, why or status):
        return
    texts = [part for part in parts if part.get("type") == "output_text"]
    yield from _one(fields, texts, response_id, model, cut_off)


_CUT_OFF = ("max_tokens", "model_context_window_exceeded")


def _one(
    fields: Fields, blocks: list[dict[str, Any]], response_id: str, model: str, cut_off: str
) -> Iterator[Completion]:
    text = "".join(_text(block.get("text")) for block in blocks)
    if text.strip():
        yield Completion(response_id, model, text, cut_off)
    else:
        fields.refuse("output", "The response holds no text.", "Generate it again.")


def _refused(fields: Fields, place: str, refusal: Any, stopped: bool, reason: Any) -> bool:
    """Note a refusal by the model or an unfinished completion. Return True if there was one."""
    remedy = "Remove the row or generate it again."
    if refusal:
        fields.refuse(place, f"The model refused: {quote(str(refusal), 200)}.", remedy)
    elif stopped:
        fields.refuse(place, f"The model stopped without an answer ({quote(str(reason))}).", remedy)
    return bool(refusal) or stopped


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
