"""Compare the file of revisions with the stories that it names. Memory grows with that file."""

from dataclasses import asdict

from annotation.importing.rows import hash_of
from publishing.files.rows import REVISIONS_PATH, ReleasedStory, Row
from publishing.verification import schema
from publishing.verification.release import CheckedRelease

_CHECK = "decisions"
_ALSO_DIFFERENT = {"story_id": "", "stored_hash": "", "is_old_version": False}


class Revisions:
    """The revisions of a release. Show it every story; then ask for its findings."""

    def __init__(self, release: CheckedRelease) -> None:
        rows = list(schema.sound_revisions(release))
        self._release = release
        self._by_old = {row["revised_from"]: row for row in rows}
        self._by_new = {row["story_id"]: row for row in rows}
        self._seen: dict[tuple[str, str], tuple[str, str]] = {}
        """Hashes of the story as it is and with the other version's texts, by revision and version."""
        if len({len(rows), len(self._by_old), len(self._by_new)}) > 1:
            self._report("Some version is in two revisions.")
        if release.has(REVISIONS_PATH) and not rows:
            self._report("There are no revisions, so there is no such file.")

    @property
    def drafts(self) -> int:
        """The number of first versions that were revised."""
        return len(self._by_old.keys() - self._by_new.keys())

    def has_old(self, story_id: str) -> bool:
        """Return True if a story of this id was revised."""
        return story_id in self._by_old

    def see(self, story: ReleasedStory) -> None:
        """Remember the hashes of a story that is a version."""
        for revised, others in ((self._by_old, "after"), (self._by_new, "before")):
            if row := revised.get(story.story_id):
                self._seen[row["story_id"], others] = _hash(story, {}), _hash(story, row, others)

    def check(self) -> None:
        """Report what does not fit, after all stories."""
        for story_id in self._by_new:
            old, new = (self._seen.get((story_id, others)) for others in ("after", "before"))
            if not (old and new):
                self._report(f"A version in the revision {story_id} is in no file of stories.")
            elif old[0] == new[0] or old != new[::-1]:
                self._report(f"The versions of the revision {story_id} do not differ in its texts alone.")
        reached = 0
        for story_id in self._by_old.keys() - self._by_new.keys():
            while row := self._by_old.get(story_id):
                story_id, reached = row["story_id"], reached + 1
        if reached < len(self._by_old):
            self._report("Some versions follow each other in a circle.")

    def _report(self, problem: str) -> None:
        self._release.report(_CHECK, REVISIONS_PATH, problem)


def _hash(story: ReleasedStory, revision: Row, texts: str = "") -> str:
    """Return a hash of the story, with these texts of a revision in place of its own."""
    others = dict(zip(revision.get("changed", ()), revision.get(texts, ()), strict=False))
    return hash_of({**asdict(story), "content": {**story.content, **others}, **_ALSO_DIFFERENT})
