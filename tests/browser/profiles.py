"""Browser profiles that tests take in turn: a new one costs half a second of work, a clean one little."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tests.browser.checks import LOAD_AXE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


class Profiles:
    """Profiles of one browser. Each keeps an empty page, and with it its processes, from test to test."""

    def __init__(self, browser: Browser, site: str) -> None:
        self.browser = browser
        self.site = site
        self._free: dict[str, list[BrowserContext]] = defaultdict(list)
        self._taken: list[tuple[str, BrowserContext]] = []

    def take(self, **options: Any) -> BrowserContext:
        """A profile with nothing in it; the options are those of ``Browser.new_context``."""
        key = repr(sorted(options.items()))
        if self._free[key]:
            context = self._free[key].pop()
        else:
            context = self.browser.new_context(**options)
            context.add_init_script(LOAD_AXE)
            context.new_page()
        self._taken.append((key, context))
        return context

    def clean_up(self) -> None:
        """Close the windows of every profile that was taken, and forget cookies and all that was stored."""
        while self._taken:
            key, context = self._taken.pop()
            empty, *used = context.pages
            for page in used:
                page.close()
            context.set_offline(False)
            context.clear_cookies()
            protocol = context.new_cdp_session(empty)
            protocol.send("Storage.clearDataForOrigin", {"origin": self.site, "storageTypes": "all"})
            protocol.detach()
            self._free[key].append(context)

    def close(self) -> None:
        for contexts in self._free.values():
            for context in contexts:
                context.close()
