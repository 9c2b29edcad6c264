"""Dataset repositories of Hugging Face.

All files come in one commit, so readers see the whole release or the previous state. Big files are uploaded
ahead of the commit, where nobody sees them, and are not sent twice. A tag ``v<number>`` names the commit of
each release. Before tagging, the commit is compared with MANIFEST: big files by SHA-256, small ones by git
object id.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from httpx2 import HTTPError
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError
from huggingface_hub.hf_api import DatasetInfo, RepoFile
from huggingface_hub.utils.logging import set_verbosity_error
from huggingface_hub.utils.tqdm import disable_progress_bars

from publishing import errors
from publishing.destinations.base import HUGGING_FACE, Destination, Log, Package, Plan
from publishing.files.directory import MANIFEST, FileFacts

_DATASET = "dataset"
_MAIN = "main"
_OF_THE_HUB = ".gitattributes"
"""The file that the Hub adds to every new repository. Left unchanged."""

Tree = dict[str, RepoFile]


class HuggingFaceDataset(Destination):
    """``owner/name``. ``token`` is never stored; ``endpoint`` is the address of the Hub.

    A missing repository is created, public or private as requested. An existing one keeps its visibility,
    which must be the requested one.
    """

    kind = HUGGING_FACE

    def __init__(self, place: str, *, token: str, endpoint: str, public: bool = False) -> None:
        self.place = place
        self.public = public
        self._endpoint = endpoint
        self._token = token

    def plan(self, package: Package) -> Plan:
        with _explained(self.place):
            repository = self._repository()
            readers = "everybody" if self.public else "only people with access"
            if repository is None:
                kind = "public" if self.public else "private"
                return Plan(package.files, note=f"Creates a new {kind} repository; {readers} can read it.")
            note = f"The repository exists; {readers} can read it."
            if self._tagged(package) is not None:
                return Plan((), note=f"{note} It has this release as {_tag(package)}.")
            return self._changes(package, self._tree(_MAIN), note)

    def deposit(self, package: Package, log: Log) -> str:
        disable_progress_bars()  # they would clutter the log
        set_verbosity_error()  # its warnings quote signed addresses
        with _explained(self.place):
            if self._repository() is None:
                log(f"Creating the {'public' if self.public else 'private'} repository {self.place}.")
                self._api.create_repo(self.place, repo_type=_DATASET, private=not self.public)
            commit = self._tagged(package) or self._commit(package, log)
            if wrong := self._differing(package, self._tree(commit)):
                raise errors.Damaged(
                    f"{self.place}: {wrong[0]} is not in commit {commit[:12]} as MANIFEST says. Run this "
                    "again; if this does not help, name a new repository."
                )
            if self._tagged(package) is None:
                self._api.create_tag(self.place, tag=_tag(package), revision=commit, repo_type=_DATASET)
            self._repository()  # check the visibility again
        return f"{self._endpoint}/datasets/{self.place}/tree/{_tag(package)}"

    @cached_property
    def _api(self) -> HfApi:
        return HfApi(endpoint=self._endpoint, token=self._token, library_name="tomannot")

    def _repository(self) -> DatasetInfo | None:
        """Return the repository, or None. Raise :class:`WrongVisibility`."""
        try:
            found = self._api.dataset_info(self.place)
        except RepositoryNotFoundError as error:
            if error.response.status_code == 401:
                raise
            return None
        if found.private and self.public:
            raise errors.WrongVisibility(
                f"{self.place} is private. Make it public in its settings on the Hub, or leave out --public."
            )
        if not found.private and not self.public:
            raise errors.WrongVisibility(
                f"{self.place} is public: everybody would see the release at once. Add --public if you "
                "want that, or name another repository."
            )
        return found

    def _tagged(self, package: Package) -> str | None:
        """Return the commit with this release's tag, or None. Raise :class:`PlaceOccupied`."""
        tags = self._api.list_repo_refs(self.place, repo_type=_DATASET).tags
        commit = next((tag.target_commit for tag in tags if tag.name == _tag(package)), None)
        if commit is not None and self._differing(package, self._tree(commit)):
            raise errors.PlaceOccupied(
                f"{self.place} has a tag {_tag(package)} that is not this release. Name another repository."
            )
        return commit

    def _tree(self, revision: str) -> Tree:
        entries = self._api.list_repo_tree(self.place, recursive=True, revision=revision, repo_type=_DATASET)
        return {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}

    def _changes(self, package: Package, tree: Tree, note: str) -> Plan:
        """Plan how the files of the repository become those of the release. Raise :class:`PlaceOccupied`."""
        there = tree.keys() - {_OF_THE_HUB}
        foreign = there - _replaceable(package, tree)
        if foreign:
            raise errors.PlaceOccupied(
                f"{self.place} holds {min(foreign)}, which belongs neither to this release nor to an earlier "
                "one of its study that is known here. Name a new repository, or remove what is there."
            )
        upload = tuple(
            file for file in package.files if not _same(package.directory, file, tree.get(file.path))
        )
        return Plan(upload, tuple(sorted(there - {file.path for file in package.files})), note)

    def _commit(self, package: Package, log: Log) -> str:
        """Return the commit on the main branch with the release; create it if necessary."""
        head = self._repository()
        if head is None or head.sha is None:
            raise errors.Unreachable(
                f"{self.place} is not visible on the Hub yet. Run this again in a minute."
            )
        plan = self._changes(package, self._tree(head.sha), "")
        if not plan.upload and not plan.remove:
            return head.sha
        log(f"Sending {len(plan.upload)} files ({plan.size:,} bytes) in one commit.")
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
        wrong = [
            file.path for file in package.files if not _same(package.directory, file, tree.get(file.path))
        ]
        return wrong + sorted(tree.keys() - {_OF_THE_HUB} - {file.path for file in package.files})


def _tag(package: Package) -> str:
    return f"v{package.number}"


def _replaceable(package: Package, tree: Tree) -> set[str]:
    """Return files that this release may replace: its own, or those of an earlier release."""
    standing = tree.get(MANIFEST)
    for manifest in (package.manifest, *package.earlier):
        if standing is not None and _is_content(standing, manifest):
            return {line.partition("  ")[2] for line in manifest.decode().splitlines()} | {MANIFEST}
    return set()


def _is_content(entry: RepoFile, content: bytes) -> bool:
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == hashlib.sha256(content).hexdigest())
    # Git's object id: a SHA-1 over a header and the bytes.
    found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return bool(entry.blob_id == found.hexdigest())


def _same(directory: Path, file: FileFacts, entry: RepoFile | None) -> bool:
    if entry is None or entry.size != file.size:
        return False
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == file.sha256)
    return _is_content(entry, (directory / file.path).read_bytes())


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Turn what huggingface_hub raises in the block into a :class:`DestinationError`.

    The messages are ours, because the library's may quote a signed address.
    """
    try:
        yield
    except errors.DestinationError:
        raise
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        raise _explanation(place, error) from None


def _explanation(place: str, error: BaseException) -> errors.DestinationError:
    while isinstance(error, RuntimeError) and error.__cause__ is not None:
        error = error.__cause__  # the error that stopped an upload thread
    if isinstance(error, OfflineModeIsEnabled):
        return errors.Unreachable(
            "HF_HUB_OFFLINE keeps this process from the Hub. Unset it and run this again."
        )
    if isinstance(error, HfHubHTTPError):
        return _refusal(place, error.response.status_code)
    if isinstance(error, HTTPError):
        return errors.Unreachable(
            f"The Hub did not answer for {place} or broke off ({type(error).__name__}). Check HF_ENDPOINT "
            "and the network, and run this again: big files that have arrived are not sent twice."
        )
    return errors.DestinationError(
        f"{place} cannot be sent ({type(error).__name__}). Check its name, that the release's files can be "
        "read, and that nobody else is changing the repository."
    )


def _refusal(place: str, status: int) -> errors.DestinationError:
    if status in (401, 403):
        return errors.AccessRefused(
            f"The Hub refuses this token for {place} (HTTP {status}). Make one with write access under "
            "Settings, Access Tokens, as a user who may write there."
        )
    if status == 404:
        return errors.WrongPlace(
            f"The Hub has no owner or repository {place}, or the token may not see it. Check the name."
        )
    if status in (409, 412):
        return errors.DestinationError(
            f"Somebody else has changed {place} meanwhile (HTTP {status}). Nothing was overwritten. Run this "
            "again."
        )
    if status == 429 or status >= 500:
        return errors.Unreachable(
            f"The Hub cannot take {place} now (HTTP {status}). Run this again later: big files that have "
            "arrived are not sent twice."
        )
    return errors.DestinationError(
        f"The Hub answered HTTP {status} for {place}. Look it up in the Hub's documentation."
    )
