"""Read lines of bytes with a limit, so that no line can fill the memory."""

from typing import BinaryIO

from annotation.importing.rows import Problem

MAX_LINE_BYTES = 1024 * 1024
"""No story needs a longer line: it would be another kind of file, or line ends are missing."""


class LineTooLong(Exception):
    """A line is longer than :data:`MAX_LINE_BYTES`. The stream is at the next line."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"a line of {size:,} bytes")

    def problem(self, name: str, number: int) -> Problem:
        """Describe the error for the author of the file."""
        message = f"The line has {self.size:,} bytes; at most {MAX_LINE_BYTES:,} are read."
        return Problem(name, number, "", message, "Write one story per line.")


def next_line(stream: BinaryIO) -> bytes:
    """Return the next line with its line end, or ``b""`` at the end of the file.

    Raise :class:`LineTooLong` after skipping the rest of such a line in pieces.
    """
    raw = stream.readline(MAX_LINE_BYTES + 1)
    if len(raw) <= MAX_LINE_BYTES:
        return raw
    size, piece = len(raw), raw
    while piece and not piece.endswith(b"\n"):
        piece = stream.readline(MAX_LINE_BYTES)
        size += len(piece)
    raise LineTooLong(size)


def decode_line(raw: bytes, name: str, number: int) -> str | Problem:
    """Decode a line, or report where it stops being UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"Byte {error.start + 1} of the line (0x{raw[error.start]:02X}) is not UTF-8."
        remedy = "Save the file as UTF-8; bytes like this come from Windows-1252 or Latin-1 text."
        return Problem(name, number, "", message, remedy, column=len(raw[: error.start].decode()) + 1)
