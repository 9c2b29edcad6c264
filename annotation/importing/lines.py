"""Read lines of bytes with a limit, so that no line can fill the memory."""

from typing import BinaryIO

from annotation.importing.rows import Problem

MAX_LINE_BYTES = 1024 * 1024
"""No story needs a longer line: it would be another kind of file, or line ends are missing."""


def next_line(stream: BinaryIO, name: str, number: int) -> bytes | Problem:
    """Return the next line with its line end, or ``b""`` at the end of the file.

    Report one that is longer than :data:`MAX_LINE_BYTES`, after skipping the rest of it in pieces.
    """
    raw = stream.readline(MAX_LINE_BYTES + 1)
    if len(raw) <= MAX_LINE_BYTES:
        return raw
    size, piece = len(raw), raw
    while piece and not piece.endswith(b"\n"):
        piece = stream.readline(MAX_LINE_BYTES)
        size += len(piece)
    message = f"The line has {size:,} bytes; at most {MAX_LINE_BYTES:,} are read."
    return Problem(name, number, "", message, "Write one story per line.")


def decode_line(raw: bytes, name: str, number: int) -> str | Problem:
    """Decode a line, or report where it stops being UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"Byte {error.start + 1} of the line (0x{raw[error.start]:02X}) is not UTF-8."
        remedy = "Save the file as UTF-8; bytes like this come from Windows-1252 or Latin-1 text."
        return Problem(name, number, "", message, remedy, column=len(raw[: error.start].decode()) + 1)
