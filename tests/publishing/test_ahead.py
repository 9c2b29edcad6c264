"""Work ahead of its use during a build: in order, and its errors are the build's."""

import errno
import hashlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Study
from publishing import story_stream
from publishing.files import directory
from publishing.files.directory import DirectoryWriter
from publishing.steps import ahead
from publishing.story_stream import judged_stories


@pytest.mark.django_db
@pytest.mark.parametrize(("at_once", "fetched"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4)])
def test_stories_are_the_same_however_many_are_fetched_at_once(
    small: Study, monkeypatch: pytest.MonkeyPatch, at_once: int, fetched: int
) -> None:
    expected = list(judged_stories(small))
    monkeypatch.setattr(story_stream, "_AT_ONCE", at_once)
    monkeypatch.setattr(story_stream, "_FETCHED", fetched)
    assert list(judged_stories(small)) == expected
    unread = [len(chunk) for chunk in story_stream.chunks(small)]  # the rows come all the same
    assert (sum(unread), len(unread)) == (len(expected), -(-len(expected) // at_once))


def numbers(made: list[int], *, last: int) -> Generator[int]:
    for number in range(last):
        made.append(number)
        yield number
    raise OSError(errno.EIO, "the end is broken")


def test_items_are_made_one_ahead_and_an_error_comes_at_its_place() -> None:
    made: list[int] = []
    found = ahead(numbers(made, last=5))
    assert next(found) == 0
    found.close()
    assert len(made) <= 2  # the next one, and no more
    seen: list[int] = []
    with pytest.raises(OSError, match="the end is broken"):
        seen.extend(ahead(numbers([], last=5)))
    assert seen == [0, 1, 2, 3, 4]


def test_pieces_are_hashed_in_order_however_they_are_written(tmp_path: Path) -> None:
    pieces = [os.urandom(size) for size in (1, 3 << 20, 0, 700_000, 700_000)]
    writer = DirectoryWriter(tmp_path / "1")
    with writer.open("a") as file:
        for piece in pieces:
            buffer = bytearray(piece)
            file.write(buffer)
            buffer[:] = bytes(len(buffer))  # the caller uses it again
    whole = b"".join(pieces)
    assert (tmp_path / "1/a").read_bytes() == whole
    assert (writer.files[0].size, writer.files[0].sha256) == (len(whole), hashlib.sha256(whole).hexdigest())


@pytest.mark.parametrize("size", [10, 5 << 20])
def test_a_write_that_fails_in_the_thread_fails_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def fail(self: Any, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(directory.HashingFile, "_write", fail)
    writer = DirectoryWriter(tmp_path / "1")
    with pytest.raises(OSError, match="No space left"), writer.open("a") as file:
        file.write(bytes(size))
    assert writer.files == []
