"""What goes over the wire: pages are compressed, files of a release are not."""

from __future__ import annotations

import gzip

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory

from tomannot.middleware import CompressPages

ASKING = {"Accept-Encoding": "gzip, deflate, br"}


def sent(response: HttpResponseBase, **headers: str) -> HttpResponseBase:
    """The response as the middleware hands it on to a browser that asks for gzip."""
    return CompressPages(lambda request: response)(RequestFactory().get("/", headers=ASKING | headers))  # type: ignore[return-value]


@pytest.mark.django_db
def test_a_page_is_compressed_for_whoever_asks(client: Client) -> None:
    plain = client.get("/")
    compressed = client.get("/", headers=ASKING)
    assert "Content-Encoding" not in plain.headers
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in compressed.headers["Vary"]
    assert "Accept-Encoding" in plain.headers["Vary"]
    assert gzip.decompress(compressed.content) == plain.content
    assert int(compressed.headers["Content-Length"]) == len(compressed.content) < len(plain.content)


def test_the_length_of_a_page_tells_nothing_exact() -> None:
    """Against BREACH: the same page has another length each time."""
    page = "<p>the same text each time</p>" * 100
    lengths = {len(sent(HttpResponse(page)).content) for _ in range(30)}  # type: ignore[attr-defined]
    assert len(lengths) > 5


@pytest.mark.parametrize("kind", ["application/jsonl", "application/x-tar", "application/json"])
def test_files_are_sent_as_they_are(kind: str) -> None:
    body = b'{"story": 1}\n' * 100
    for response in (HttpResponse(body, content_type=kind), StreamingHttpResponse([body], content_type=kind)):
        assert "Content-Encoding" not in sent(response).headers


def test_a_file_keeps_its_length_even_when_it_is_a_page(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "card.html"
    path.write_text("<p>card</p>" * 100)
    with path.open("rb") as file:
        response = sent(FileResponse(file, content_type="text/html"))
        assert response.headers["Content-Length"] == str(path.stat().st_size)
        assert "Content-Encoding" not in response.headers
