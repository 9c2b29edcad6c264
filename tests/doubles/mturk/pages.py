"""The pages of the worker site: plain, but with the frame as MTurk has it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from tests.doubles.mturk.rows import Assignment, HitType

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#16191f;background:#fff}"
    "header{background:#232f3e;color:#fff;padding:.6rem 1rem}main{padding:1rem}"
    "table{border-collapse:collapse}td,th{padding:.4rem 1rem .4rem 0;text-align:left;vertical-align:top}"
    "iframe{display:block;width:100%;height:75vh;border:1px solid #545b64}form{display:inline}"
)


def page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><header>Test double of the Mechanical Turk worker site</header>"
        f"<main><h1>{escape(title)}</h1>{body}</main></html>"
    )


def listing(worker_id: str, hits: Iterable[tuple[str, HitType]]) -> str:
    """The HITs that a worker can take."""
    who = urlencode({"workerId": worker_id})
    rows = "".join(
        f"<tr><td>{escape(kind.title)}<br><small>{escape(kind.description)}</small></td>"
        f"<td>${kind.reward:.2f}</td><td>{kind.duration // 60} min</td>"
        f'<td><a href="/projects/{hit_id}/tasks?{who}">Preview</a> '
        f'<form method="post" action="/projects/{hit_id}/tasks/accept">'
        f'<input type="hidden" name="workerId" value="{escape(worker_id)}">'
        "<button>Accept &amp; Work</button></form></td></tr>"
        for hit_id, kind in hits
    )
    return page("HITs for you", f"<table>{rows}</table>" if rows else "<p>There are no HITs for you now.</p>")


def preview(hit_id: str, worker_id: str, kind: HitType, url: str, sandbox: str) -> str:
    """A HIT in its frame before it is accepted."""
    button = (
        f'<form method="post" action="/projects/{hit_id}/tasks/accept">'
        f'<input type="hidden" name="workerId" value="{escape(worker_id)}"><button>Accept</button></form>'
    )
    return page(f"{kind.title} (preview)", f"<p>{button}</p>{_frame(url, sandbox)}")


def work(row: Assignment, kind: HitType, url: str, sandbox: str) -> str:
    """An accepted HIT in its frame, which the outer page leaves once the work was submitted."""
    here = f"/projects/{row.hit_id}/tasks/{row.assignment_id}"
    who = urlencode({"workerId": row.worker_id})
    button = (
        f'<form method="post" action="{here}/return">'
        f'<input type="hidden" name="workerId" value="{escape(row.worker_id)}"><button>Return</button></form>'
    )
    watch = (
        "<script>setInterval(async () => {"
        f'const state = await (await fetch("{here}/state?{who}")).text();'
        'if (state !== "Accepted") location.reload();'
        "}, 1000)</script>"
    )
    return page(kind.title, f"<p>{button}</p>{_frame(url, sandbox)}{watch}")


def message(title: str, text: str, worker_id: str = "") -> str:
    """A sentence, and the way back to the list."""
    back = f'<p><a href="/?{urlencode({"workerId": worker_id})}">All HITs</a></p>' if worker_id else ""
    return page(title, f"<p>{escape(text)}</p>{back}")


def _frame(url: str, sandbox: str) -> str:
    return f'<iframe title="The task" sandbox="{escape(sandbox)}" src="{escape(url)}"></iframe>'
