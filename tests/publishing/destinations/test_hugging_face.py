"""Releases in a dataset repository: one commit each, tagged, compared, with no surprise about readers.

An unmodified client talks to the double in ``hub.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from publishing.destinations.base import Package
from publishing.destinations.hugging_face import HuggingFaceDataset
from publishing.errors import (
    AccessRefused,
    Damaged,
    DestinationError,
    PlaceOccupied,
    Unreachable,
    WrongVisibility,
)
from tests.publishing.destinations.faults import drop, method_is
from tests.publishing.destinations.hub import GIT_ATTRIBUTES, SIGNATURE, TOKEN, Hub, Repository
from tests.publishing.destinations.test_s3 import in_directory, quiet

Make = Callable[..., Package]
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the client itself


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for seconds between its tries."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)


def place(hub: Hub, *, public: bool = False, token: str = TOKEN) -> HuggingFaceDataset:
    return HuggingFaceDataset("lab/pilot", token=token, endpoint=hub.url, public=public)


def holds(repository: Repository, package: Package, revision: str = "main") -> bool:
    return repository.files(revision) == in_directory(package) | {".gitattributes": GIT_ATTRIBUTES}


def test_one_commit_has_the_directory_byte_for_byte_and_a_tag(hub: Hub, make_package: Make) -> None:
    package = make_package()
    done = place(hub).deposit(package, quiet)
    repository = hub.repositories["lab/pilot"]
    assert repository.private
    assert holds(repository, package)
    assert repository.messages == ["initial commit", "Release 1 of pilot"]
    assert repository.tags == {"v1": repository.head}
    assert repository.big == {"parquet/story-data/test.parquet"}
    assert done == f"{hub.url}/datasets/lab/pilot/tree/v1"
    place(hub).deposit(package, quiet)
    assert len(repository.commits) == 2


def test_a_dry_run_says_what_would_come_and_changes_nothing(hub: Hub, make_package: Make) -> None:
    package = make_package()
    planned = place(hub).plan(package)
    assert planned.upload == package.files
    assert "new private repository" in planned.note
    assert "new public repository" in place(hub, public=True).plan(package).note
    assert hub.repositories == {}
    assert not any(seen.startswith(("POST", "PUT")) for seen in hub.faults.seen)


def test_the_next_release_follows_in_the_same_repository(hub: Hub, make_package: Make) -> None:
    first = make_package(1)
    second = make_package(2, earlier=(first,))
    place(hub).deposit(first, quiet)
    planned = place(hub).plan(second)
    assert planned.remove == ("only-in-the-first.json",)
    assert "empty.jsonl" not in [file.path for file in planned.upload]
    place(hub).deposit(second, quiet)
    repository = hub.repositories["lab/pilot"]
    assert holds(repository, second)
    assert holds(repository, first, "v1")
    assert holds(repository, second, "v2")
    place(hub).deposit(first, quiet)  # it is there still; the newest stays in front
    assert holds(repository, second)
    assert len(repository.commits) == 3


def test_an_unknown_release_and_other_files_are_left_alone(hub: Hub, make_package: Make) -> None:
    place(hub).deposit(make_package(1), quiet)
    before = dict(hub.repositories["lab/pilot"].commits)
    with pytest.raises(PlaceOccupied, match="belongs neither to this release"):
        place(hub).deposit(make_package(2), quiet)  # knows of no earlier one
    assert hub.repositories["lab/pilot"].commits == before
    other = hub.make("lab/pilot", private=True)
    other.commit({".gitattributes": GIT_ATTRIBUTES, "README.md": b"ours"}, "ours")
    with pytest.raises(PlaceOccupied, match=r"holds README\.md"):
        place(hub).plan(make_package(1))


def test_a_tag_that_is_something_else_is_left_alone(hub: Hub, make_package: Make) -> None:
    repository = hub.make("lab/pilot", private=True)
    repository.tags["v1"] = repository.head
    with pytest.raises(PlaceOccupied, match="tag v1"):
        place(hub).deposit(make_package(), quiet)


def test_who_can_read_is_never_a_surprise(hub: Hub, make_package: Make) -> None:
    hub.make("lab/pilot", private=False)
    with pytest.raises(WrongVisibility, match="is public: everybody"):
        place(hub).deposit(make_package(), quiet)
    hub.make("lab/pilot", private=True)
    with pytest.raises(WrongVisibility, match="is private"):
        place(hub, public=True).deposit(make_package(), quiet)
    assert len(hub.repositories["lab/pilot"].commits) == 1


BREAKS = [
    (method, ending, late)
    for method, endings in {"POST": ("/create", "/batch", "/commit/main", "/tag/"), "GET": ("/refs",)}.items()
    for ending in endings
    for late in (False, True)
]
SOME_BREAKS = (("POST", "/create", True), ("POST", "/commit/main", False), ("POST", "/commit/main", True))


@pytest.mark.parametrize(
    ("method", "ending", "late"),
    [pytest.param(*one, marks=() if one in SOME_BREAKS else pytest.mark.torture) for one in BREAKS],
)
def test_a_broken_connection_anywhere_leaves_nothing_half_and_the_next_try_completes_it(
    hub: Hub, make_package: Make, method: str, ending: str, late: bool
) -> None:
    package = make_package()

    def meant(seen: str, path: str) -> bool:
        return seen == method and f"{path}/".find(ending if ending.endswith("/") else f"{ending}/") >= 0

    for nth in range(1, 7):  # the client tries some requests six times
        (hub.faults.after if late else hub.faults.before)(meant, drop, nth=nth)
    try:
        place(hub).deposit(package, quiet)
    except DestinationError:
        repository = hub.repositories.get("lab/pilot")
        assert repository is None or repository.tags == {} or holds(repository, package)
        assert repository is None or holds(repository, package) or len(repository.commits) == 1
    hub.faults.clear()
    place(hub).deposit(package, quiet)
    repository = hub.repositories["lab/pilot"]
    assert holds(repository, package)
    assert repository.tags == {"v1": repository.head}
    assert len(repository.commits) == 2


def test_big_files_that_have_arrived_are_not_sent_again(hub: Hub, make_package: Make) -> None:
    package = make_package()
    hub.faults.before(method_is("POST", "/commit/main"), drop)
    with pytest.raises(Unreachable, match="run this again"):
        place(hub).deposit(package, quiet)
    assert len(hub.stored) == 1
    hub.faults.clear()
    place(hub).deposit(package, quiet)
    assert not any(seen.startswith("PUT") for seen in hub.faults.seen)
    assert holds(hub.repositories["lab/pilot"], package)


def test_somebody_else_commits_meanwhile(hub: Hub, make_package: Make) -> None:
    repository = hub.make("lab/pilot", private=True)

    def meanwhile() -> None:
        repository.commit({".gitattributes": GIT_ATTRIBUTES, "mine.txt": b"mine"}, "mine")

    hub.faults.before(method_is("POST", "/commit/main"), meanwhile)
    with pytest.raises(DestinationError, match="Somebody else has changed lab/pilot"):
        place(hub).deposit(make_package(), quiet)
    assert repository.files("main").keys() == {".gitattributes", "mine.txt"}


def test_what_the_hub_has_is_compared_before_it_is_tagged(hub: Hub, make_package: Make) -> None:
    def damage() -> None:
        repository = hub.repositories["lab/pilot"]
        repository.files("main")["README.md"] = b"something else"

    hub.faults.after(method_is("POST", "/commit/main"), damage)
    with pytest.raises(Damaged, match=r"README\.md is not in commit"):
        place(hub).deposit(make_package(), quiet)
    assert hub.repositories["lab/pilot"].tags == {}


def test_a_wrong_token_is_refused_and_no_secret_is_said(
    hub: Hub, make_package: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AccessRefused, match="refuses this token") as refused:
        place(hub, token="hf_another").deposit(make_package(), quiet)
    said = [str(refused.value)]
    for nth in range(1, 7):
        hub.faults.before(method_is("PUT"), drop, nth=nth)
    with pytest.raises(DestinationError) as broken:
        place(hub).deposit(make_package(), quiet)
    said += [str(broken.value), *(record.getMessage() for record in caplog.records)]
    for secret in (TOKEN, "hf_another", SIGNATURE):
        assert not [line for line in said if secret in line]
    assert broken.value.__cause__ is None


def test_nobody_answers(make_package: Make) -> None:
    nowhere = HuggingFaceDataset("lab/pilot", token=TOKEN, endpoint="http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="HF_ENDPOINT"):
        nowhere.plan(make_package())
