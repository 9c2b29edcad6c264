"""Places on the loopback address, and made-up releases to bring there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import huggingface_hub.constants
import pytest

from publishing.destinations.base import Package
from publishing.files.directory import MANIFEST, DirectoryWriter, file_facts, verify
from tests.publishing.destinations.hub import TOKEN, Hub
from tests.publishing.destinations.store import Store

_numbers = count(1)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """An empty Hub. Big files come by LFS, which the double speaks."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    hub = Hub()
    yield hub
    hub.close()


@pytest.fixture
def make_package(tmp_path: Path) -> Callable[..., Package]:
    """Whole directories with some small files and a big one; another number has other bytes."""

    def make(number: int = 1, *, big: int = 9000, earlier: tuple[Package, ...] = ()) -> Package:
        folder = tmp_path / f"release-{number}-{next(_numbers)}"
        writer = DirectoryWriter(folder)
        writer.write("README.md", f"---\nlicense: cc-by-4.0\n---\n# Release {number}\n".encode())
        writer.write("story-data/test.jsonl", b'{"story_id": "a"}\n' * number)
        writer.write("empty.jsonl", b"")
        writer.write("parquet/story-data/test.parquet", Random(number).randbytes(big))
        if number == 1:
            writer.write("only-in-the-first.json", b"{}\n")
        writer.finish()
        files = (*verify(folder)[0], file_facts(folder, MANIFEST))
        return Package(folder, "pilot", number, False, files, tuple(other.manifest for other in earlier))

    return make


@pytest.fixture
def at_store(store: Store, settings: Any) -> Store:
    settings.S3_ENDPOINT_URL = store.url
    return store


@pytest.fixture
def at_hub(hub: Hub, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Hub:
    settings.HF_ENDPOINT = hub.url
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub
