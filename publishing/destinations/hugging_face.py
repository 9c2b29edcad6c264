"""A dataset repository of Hugging Face.

All files come in one commit, so a reader sees the whole release or what stood there before. Big files
are brought to the Hub's storage ahead of the commit, where nobody sees them; those that have arrived are
not sent twice. A tag ``v<number>`` names the commit of each release. The commit is compared with MANIFEST
before it is tagged: big files by their SHA-256, small ones by their git object id.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import DatasetInfo, RepoFile
from huggingface_hub.utils.logging import set_verbosity_error
from huggingface_hub.utils.tqdm import disable_progress_bars

from publishing.destinations import addresses
from publishing.destinations.base import (
    Damaged,
    Deposited,
    Destination,
    PlaceOccupied,
    Plan,
    Say,
    Unreachable,
    WrongVisibility,
)
from publishing.destinations.hugging_face_faults import explained
from publishing.destinations.package import Package
from publishing.files.directory import MANIFEST, FileFacts

_DATASET = "dataset"
_MAIN = "main"
_OF_THE_HUB = ".gitattributes"
"""The file with which the Hub begins every repository. It is left as it is."""

Tree = dict[str, RepoFile]


class HuggingFaceDataset(Destination):
    """``owner/name``. ``token`` is used and never kept; ``endpoint`` is where the Hub is.

    A repository that is not there yet is made, public or private as told. One that is there stays as it
    is, and must be what was told.
    """

    kind = addresses.HUGGING_FACE

    def __init__(self, place: str, *, token: str, endpoint: str, public: bool = False) -> None:
        self.place = place
        self.public = public
        self._endpoint = endpoint
        self._token = token

    def plan(self, package: Package) -> Plan:
        with explained(self.place):
            repository = self._repository()
            readers = "everybody" if self.public else "those whom its owner lets in"
            if repository is None:
                kind = "public" if self.public else "private"
                return Plan(package.files, note=f"A new {kind} repository is made; {readers} can read it.")
            note = f"The repository is there; {readers} can read it."
            if self._tagged(package) is not None:
                return Plan((), note=f"{note} It has this release as {_tag(package)}.")
            return self._changes(package, self._tree(_MAIN), note)

    def deposit(self, package: Package, say: Say) -> Deposited:
        disable_progress_bars()  # they would be drawn into the log
        set_verbosity_error()  # its warnings quote signed addresses
        with explained(self.place):
            if self._repository() is None:
                say(f"Making the {'public' if self.public else 'private'} repository {self.place}.")
                self._api.create_repo(self.place, repo_type=_DATASET, private=not self.public)
            commit = self._tagged(package) or self._committed(package, say)
            self._check_tree(package, commit)
            self._tag_commit(package, commit)
            self._repository()  # refuses when it has become public, or private, meanwhile
        return Deposited(f"{self._endpoint}/datasets/{self.place}/tree/{_tag(package)}")

    @cached_property
    def _api(self) -> HfApi:
        return HfApi(endpoint=self._endpoint, token=self._token, library_name="tomannot")

    def _repository(self) -> DatasetInfo | None:
        """The repository as it is, or None. Raises :class:`WrongVisibility`."""
        try:
            found = self._api.dataset_info(self.place)
        except RepositoryNotFoundError as error:
            if error.response.status_code == 401:
                raise
            return None
        if found.private and self.public:
            raise WrongVisibility(
                f"{self.place} is private. Make it public in its settings on the Hub, or leave --public out."
            )
        if not found.private and not self.public:
            raise WrongVisibility(
                f"{self.place} is public: everybody would see the release at once. Add --public if that is "
                "meant, or name another repository."
            )
        return found

    def _tagged(self, package: Package) -> str | None:
        """The commit that has this release's tag, or None. Raises :class:`PlaceOccupied`."""
        tags = self._api.list_repo_refs(self.place, repo_type=_DATASET).tags
        commit = next((tag.target_commit for tag in tags if tag.name == _tag(package)), None)
        if commit is not None and self._differing(package, self._tree(commit)):
            raise PlaceOccupied(
                f"{self.place} has a tag {_tag(package)} that is not this release. Name another repository."
            )
        return commit

    def _tree(self, revision: str) -> Tree:
        entries = self._api.list_repo_tree(self.place, recursive=True, revision=revision, repo_type=_DATASET)
        return {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}

    def _changes(self, package: Package, tree: Tree, note: str) -> Plan:
        """What makes the files of the repository those of the release. Raises :class:`PlaceOccupied`."""
        there = tree.keys() - {_OF_THE_HUB}
        foreign = there - _replaceable(package, tree)
        if foreign:
            raise PlaceOccupied(
                f"{self.place} holds {min(foreign)}, which belongs neither to this release nor to an earlier "
                "one of its study that is known here. Name a new repository, or remove what is there."
            )
        upload = tuple(
            file for file in package.files if not _same(package.directory, file, tree.get(file.path))
        )
        return Plan(upload, tuple(sorted(there - {file.path for file in package.files})), note)

    def _committed(self, package: Package, say: Say) -> str:
        """The commit on the main branch that has the release, made now unless it is there."""
        head = self._repository()
        if head is None or head.sha is None:
            raise Unreachable(f"The Hub does not show {self.place} yet. Run this again in a minute.")
        plan = self._changes(package, self._tree(head.sha), "")
        if not plan.upload and not plan.remove:
            return head.sha
        say(f"Sending {len(plan.upload)} files ({plan.size:,} bytes) in one commit.")
        adding = [
            CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=package.directory / file.path)
            for file in plan.upload
        ]
        done = self._api.create_commit(
            self.place,
            [*adding, *(CommitOperationDelete(path, is_folder=False) for path in plan.remove)],
            commit_message=package.title,
            commit_description=f"SHA-256 of MANIFEST: {package.files[-1].sha256}",
            repo_type=_DATASET,
            parent_commit=head.sha,
        )
        return done.oid

    def _differing(self, package: Package, tree: Tree) -> list[str]:
        """Paths that are not in the tree as they are in the release, or not in the release."""
        wrong = [
            file.path for file in package.files if not _same(package.directory, file, tree.get(file.path))
        ]
        return wrong + sorted(tree.keys() - {_OF_THE_HUB} - {file.path for file in package.files})

    def _check_tree(self, package: Package, commit: str) -> None:
        wrong = self._differing(package, self._tree(commit))
        if wrong:
            raise Damaged(
                f"{self.place}: {wrong[0]} is not in commit {commit[:12]} as MANIFEST says. Run this again; "
                "if it stays so, name a new repository."
            )

    def _tag_commit(self, package: Package, commit: str) -> None:
        if self._tagged(package) is None:
            self._api.create_tag(self.place, tag=_tag(package), revision=commit, repo_type=_DATASET)


def _tag(package: Package) -> str:
    return f"v{package.number}"


def _replaceable(package: Package, tree: Tree) -> set[str]:
    """The files of the tree that this release may replace: its own, or those of an earlier release."""
    standing = tree.get(MANIFEST)
    for manifest in (package.manifest, *package.earlier):
        if standing is not None and _is_content(standing, manifest):
            return {line.partition("  ")[2] for line in manifest.decode().splitlines()} | {MANIFEST}
    return set()


def _is_content(entry: RepoFile, content: bytes) -> bool:
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == hashlib.sha256(content).hexdigest())
    return bool(entry.blob_id == git_object_id(content))


def _same(directory: Path, file: FileFacts, entry: RepoFile | None) -> bool:
    """Whether the entry has this file's content, by the hash that the Hub has of it."""
    if entry is None or entry.size != file.size:
        return False
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == file.sha256)
    return _is_content(entry, (directory / file.path).read_bytes())


def git_object_id(content: bytes) -> str:
    """The id git gives a file with this content (a SHA-1 over a header and the bytes)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
