"""Compare the file of revisions with the stories. Of their texts, only hashes are kept."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from annotation.importing.rows import hash_of
from publishing.files.rows import REVISIONS_PATH, ReleasedStory
from publishing.verification import schema
from publishing.verification.release import CheckedRelease

CHECK = "decisions"
"""The check that these findings belong to."""


@dataclass(slots=True)
class _Version:
    """What a revision says of one of its versions; and, once it is seen, the hash of all else in it."""

    story_id: str
    names: Sequence[str]
    texts: str
    rest: str = ""
    problems: list[str] = field(default_factory=list)

    def see(self, story: ReleasedStory) -> None:
        content = dict(story.content)
        texts = [content.pop(name, None) for name in self.names]
        if _hash(texts) != self.texts:
            self.problems.append(f"the texts of {self.story_id} are others")
        self.rest = hash_of({**asdict(story), "content": content} | _OWN)


_OWN = {"story_id": "", "stored_hash": "", "is_old_version": False}
"""Stands for what differs between any two versions."""


def _hash(texts: Sequence[Any]) -> str:
    return hash_of({"texts": list(texts)})


class Revisions:
    """The revisions of a release. Show it every story; then ask for its findings."""

    def __init__(self, release: CheckedRelease) -> None:
        self._release = release
        self._by_old: dict[str, tuple[_Version, _Version]] = {}
        self._by_new: dict[str, tuple[_Version, _Version]] = {}
        for row in schema.sound_revisions(release):
            names, new, old = row["changed"], row["story_id"], row["revised_from"]
            versions = [_Version(old, names, _hash(row["before"])), _Version(new, names, _hash(row["after"]))]
            if not (names and len(names) == len(row["before"]) == len(row["after"])):
                self._report(new, "it does not say which texts were revised, or not to what")
            if old in self._by_old or new in self._by_new:
                self._report(new, "one of its versions is in another revision, too")
            self._by_old[old] = self._by_new[new] = (versions[0], versions[1])
        if release.has(REVISIONS_PATH) and not self._by_old:
            release.report(CHECK, REVISIONS_PATH, "There are no revisions, so there is no such file.")

    @property
    def drafts(self) -> int:
        """The number of first versions that were revised."""
        return len(self._by_old.keys() - self._by_new.keys())

    def see(self, story: ReleasedStory) -> None:
        """Compare a story with the revisions of it, and mark it if it is an old version."""
        story.is_old_version = story.story_id in self._by_old
        if story.is_old_version:
            self._by_old[story.story_id][0].see(story)
        if story.story_id in self._by_new:
            self._by_new[story.story_id][1].see(story)

    def check(self) -> None:
        """Report what does not fit, after all stories."""
        for story_id, versions in self._by_new.items():
            old, new = versions
            for problem in old.problems + new.problems:
                self._report(story_id, problem)
            if not (old.rest and new.rest):
                self._report(story_id, "one of its versions is in no file of stories")
            elif old.rest != new.rest or old.texts == new.texts:
                self._report(story_id, "its versions do not differ in these texts alone")
        reached = 0
        for story_id in self._by_old.keys() - self._by_new.keys():
            while story_id in self._by_old:
                story_id, reached = self._by_old[story_id][1].story_id, reached + 1
        if reached < len(self._by_old):
            self._release.report(CHECK, REVISIONS_PATH, "Some versions follow each other in a circle.")

    def _report(self, story_id: str, problem: str) -> None:
        self._release.report(CHECK, REVISIONS_PATH, f"The revision {story_id}: {problem}.")
