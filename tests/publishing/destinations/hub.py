"""A small double of the Hugging Face Hub: what an unmodified client needs to deposit a dataset.

Repositories with commits, tags and visibility; upload modes; the LFS batch and its storage; trees with
sizes, git object ids and SHA-256. Paths, fields and status codes are those of the Hub's API as the
client uses it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.publishing.destinations.faults import Dropped, Faults

TOKEN = "hf_token-of-these-tests"
SIGNATURE = "X-Amz-Signature=secret-of-a-signed-address"
GIT_ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
LFS_FROM = 4000
"""Bytes from which a file is a big one; the Hub's own limit is higher."""
Files = dict[str, bytes]
Answer = tuple[int, Any]


@dataclass
class Repository:
    private: bool
    commits: dict[str, Files] = field(default_factory=dict)
    big: set[str] = field(default_factory=set)
    """Paths that are kept by their SHA-256."""
    head: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: Files, message: str) -> str:
        self.head = secrets.token_hex(20)
        self.commits[self.head] = files
        self.messages.append(message)
        return self.head

    def files(self, revision: str) -> Files:
        return self.commits[self.head if revision == "main" else self.tags.get(revision, revision)]


class Hub:
    """The server. ``repositories`` is all there is; ``stored`` is the LFS storage by SHA-256."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.repositories: dict[str, Repository] = {}
        self.stored: dict[str, bytes] = {}
        self.lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def make(self, name: str, *, private: bool) -> Repository:
        repository = self.repositories[name] = Repository(private)
        repository.commit({".gitattributes": GIT_ATTRIBUTES}, "initial commit")
        return repository

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        for wanted, pattern, act in _ROUTES:
            found = re.fullmatch(pattern, path)
            if found and method == wanted:
                return act(self, body, **found.groupdict())
        return 404, {"error": "Not Found"}


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # head and body in one packet, else each answer waits for 40 ms

        def _serve(self) -> None:
            path = unquote(urlsplit(self.path).path)
            try:
                after = hub.faults.begin(self.command, path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if path.startswith("/storage/") or self.headers.get("Authorization") == f"Bearer {TOKEN}":
                    with hub.lock:
                        status, answer = hub.answer(self.command, path, body)
                else:
                    status, answer = 401, {"error": "Invalid username or password."}
                if after:
                    after()
            except Dropped:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            content = json.dumps(answer).encode()
            self.send_response(status)
            if status == 404:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = _serve

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing into the output of the tests."""

    return Handler


def _create(hub: Hub, body: bytes) -> Answer:
    asked = json.loads(body)
    name = f"{asked['organization']}/{asked['name']}"
    assert asked["type"] == "dataset"
    if name in hub.repositories:
        return 409, {"error": "You already created this dataset repo", "url": f"{hub.url}/datasets/{name}"}
    hub.make(name, private=asked["visibility"] == "private")
    return 200, {"url": f"{hub.url}/datasets/{name}", "name": name}


def _info(hub: Hub, body: bytes, repo: str) -> Answer:
    found = hub.repositories.get(repo)
    if found is None:
        return 404, {"error": "Repository not found"}
    return 200, {"id": repo, "sha": found.head, "private": found.private, "tags": [], "siblings": []}


def _refs(hub: Hub, body: bytes, repo: str) -> Answer:
    found = hub.repositories[repo]
    tags = [
        {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": commit} for tag, commit in found.tags.items()
    ]
    main = {"name": "main", "ref": "refs/heads/main", "targetCommit": found.head}
    return 200, {"branches": [main], "converts": [], "tags": tags}


def _tree(hub: Hub, body: bytes, repo: str, revision: str) -> Answer:
    found = hub.repositories[repo]
    entries: list[dict[str, Any]] = []
    for path, content in sorted(found.files(revision).items()):
        entry = {"type": "file", "path": path, "size": len(content), "oid": _git_id(content)}
        if path in found.big:
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{_sha256(content)}\n".encode()
            entry["oid"] = _git_id(pointer)
            entry["lfs"] = {"oid": _sha256(content), "size": len(content), "pointerSize": len(pointer)}
        entries.append(entry)
    folders = {path.rpartition("/")[0] for path in found.files(revision)} - {""}
    entries += [{"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in sorted(folders)]
    return 200, entries


def _validate(hub: Hub, body: bytes) -> Answer:
    return 200, {"errors": [], "warnings": []}


def _preupload(hub: Hub, body: bytes, repo: str) -> Answer:
    files = hub.repositories[repo].files("main")
    return 200, {
        "files": [
            {
                "path": asked["path"],
                "uploadMode": "lfs" if asked["size"] >= LFS_FROM else "regular",
                "shouldIgnore": False,
                "oid": _git_id(files[asked["path"]]) if asked["path"] in files else None,
            }
            for asked in json.loads(body)["files"]
        ]
    }


def _batch(hub: Hub, body: bytes, repo: str) -> Answer:
    objects = []
    for asked in json.loads(body)["objects"]:
        wanted = {"oid": asked["oid"], "size": asked["size"]}
        if asked["oid"] not in hub.stored:
            wanted["actions"] = {"upload": {"href": f"{hub.url}/storage/{asked['oid']}?{SIGNATURE}"}}
        objects.append(wanted)
    return 200, {"transfer": "basic", "objects": objects}


def _put(hub: Hub, body: bytes, oid: str) -> Answer:
    if _sha256(body) != oid:
        return 400, {"error": "BadDigest"}
    hub.stored[oid] = body
    return 200, {}


def _commit(hub: Hub, body: bytes, repo: str) -> Answer:
    found = hub.repositories[repo]
    lines = [json.loads(line) for line in body.splitlines()]
    header = lines[0]["value"]
    if header.get("parentCommit", found.head) != found.head:
        return 412, {"error": "A commit has happened since. Please refresh and try again."}
    files = dict(found.files("main"))
    for line in lines[1:]:
        path = line["value"]["path"]
        if line["key"] == "deletedFile":
            del files[path]
        elif line["key"] == "file":
            files[path] = base64.b64decode(line["value"]["content"])
            found.big.discard(path)
        elif line["value"]["oid"] not in hub.stored:
            return 400, {"error": f"{path} was never uploaded"}
        else:
            files[path] = hub.stored[line["value"]["oid"]]
            found.big.add(path)
    oid = found.commit(files, header["summary"])
    return 200, {"commitUrl": f"{hub.url}/datasets/{repo}/commit/{oid}", "commitOid": oid, "success": True}


def _tag(hub: Hub, body: bytes, repo: str, revision: str) -> Answer:
    found = hub.repositories[repo]
    name = json.loads(body)["tag"]
    if name in found.tags:
        return 409, {"error": "Tag reference exists already"}
    found.tags[name] = found.head if revision == "main" else revision
    return 200, {}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


_REPO = r"(?P<repo>[^/]+/[^/]+)"
_REVISION = r"(?P<revision>[^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("POST", "/api/repos/create", _create),
    ("POST", "/api/validate-yaml", _validate),
    ("GET", f"/api/datasets/{_REPO}", _info),
    ("GET", f"/api/datasets/{_REPO}/refs", _refs),
    ("GET", f"/api/datasets/{_REPO}/tree/{_REVISION}", _tree),
    ("POST", f"/api/datasets/{_REPO}/preupload/main", _preupload),
    ("POST", f"/datasets/{_REPO}[.]git/info/lfs/objects/batch", _batch),
    ("PUT", "/storage/(?P<oid>[0-9a-f]{64})", _put),
    ("POST", f"/api/datasets/{_REPO}/commit/main", _commit),
    ("POST", f"/api/datasets/{_REPO}/tag/{_REVISION}", _tag),
]
