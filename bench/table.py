"""Format the results as the tables in docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Facts = Mapping[str, Any]


def table(facts: Facts) -> str:
    """Return all results of a run as Markdown."""
    return "\n".join([*_head(facts), "", *_loop(facts), "", *_latencies(facts)]) + "\n"


def release_table(facts: Facts) -> str:
    """Return the results of publishing as Markdown."""
    return "\n".join([*_machine(facts), "", *_release(facts["release"])]) + "\n"


def screen_table(facts: Facts) -> str:
    """Return the wait between two stories as Markdown."""
    return "\n".join([*_machine(facts), "", *_screen(facts["screen"])]) + "\n"


def pages_table(facts: Facts) -> str:
    """Return the results of the researchers' pages as Markdown."""
    return "\n".join([*_machine(facts), "", *_pages(facts)]) + "\n"


def _pages(facts: Facts) -> Iterator[str]:
    small, big, faults = facts["small"], facts["pages"], facts["faults"]
    yield f"| {big['stories']:,} stories, {big['rows']['annotation_vote']:,} votes | |"
    yield "|---|---:|"
    yield f"| the figures, seconds | {big['seconds']:.1f} |"
    cpu = f"{big['worker_cpu']:.1f} worker + {big['postgres_cpu']:.1f} PostgreSQL"
    yield f"| CPU seconds | {cpu} |"
    yield f"| peak memory of the worker, MiB | {big['peak_mib']:,} |"
    yield f"| load average before | {big['load_before']} |"
    yield ""
    rows = sorted(big["rows"].items(), key=lambda row: -row[1])
    yield "Rows: " + ", ".join(f"{count:,} {table}" for table, count in rows) + "."
    yield ""
    yield (
        f"| {facts['requests']} requests each | p50 ms | p95 ms | CPU ms | queries "
        f"| at {small['stories']:,} stories | |"
    )
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name, page in big["pages"].items():
        times = " | ".join(f"{page[key]:.0f}" for key in ("p50_ms", "p95_ms", "cpu_ms", "queries"))
        yield f"| {name} | {times} | {small['pages'][name]['queries']} | {', '.join(faults.get(name, []))} |"
    yield ""
    yield f"Pages over the budget or with more queries: {len(faults)} of {len(big['pages'])}."
    yield f"Pages that were not measured: {', '.join(big['not_measured']) or 'none'}."
    yield f"Integrity checks broken in the small study: {_names(small)}."


def _screen(found: Facts) -> Iterator[str]:
    readable, request = found["readable"], found["request"]
    yield f"| {readable['requests']} submissions in Chromium | p50 ms | p95 ms | max ms |"
    yield "|---|---:|---:|---:|"
    for title, times in (("key to next story drawn", readable), ("of it the request", request)):
        yield f"| {title} | {times['p50_ms']:.1f} | {times['p95_ms']:.1f} | {times['max_ms']:.1f} |"
    yield f"| layout shift, sum | {found['layout_shift']} | | |"
    yield f"| load average before | {found['load_before']} | | |"


def _release(found: Facts) -> Iterator[str]:
    yield f"| {found['stories']:,} stories, {found['votes']:,} votes | |"
    yield "|---|---:|"
    yield f"| stories kept | {found['kept']:,} |"
    yield f"| publishing, seconds | {found['seconds']:.1f} |"
    yield f"| raw COPY of stories, votes and answers, seconds | {found['copy_seconds']:.1f} |"
    yield f"| publishing / COPY | {found['times_copy']:.1f} |"
    cpu = f"{found['worker_cpu']:.1f} worker + {found['postgres_cpu']:.1f} PostgreSQL"
    yield f"| CPU seconds of publishing | {cpu} |"
    yield f"| CPU seconds of COPY, with its reader | {found['copy_cpu']:.1f} |"
    yield f"| the same as a ratio | {found['times_copy_cpu']:.1f} |"
    yield f"| peak memory of the worker, MiB | {found['peak_mib']:,} |"
    yield f"| written, MB | {found['release_bytes'] / 1e6:,.0f} (COPY: {found['copy_bytes'] / 1e6:,.0f}) |"
    yield f"| load average before | {found['load_before']} |"


def _machine(facts: Facts) -> Iterator[str]:
    machine, postgres = facts["machine"], facts["postgres"]
    yield f"tomannot {facts['code']}, {facts['date']}"
    cpu = f"{machine['cores']} cores ({machine['cpu']})"
    yield f"{cpu}, {machine['memory_gib']} GiB, Python {machine['python']}"
    yield f"PostgreSQL {', '.join(f'{name} {value}' for name, value in postgres.items())}"


def _head(facts: Facts) -> Iterator[str]:
    yield from _machine(facts)
    yield f"granian {facts['server']}"


def _loop(facts: Facts) -> Iterator[str]:
    loop, bare, submit = facts["loop"], facts["bare_sql"], facts["loop"]["submit"]
    yield f"| {facts['annotators']} annotators, {facts['stories']:,} stories | tomannot | bare SQL |"
    yield "|---|---:|---:|"
    yield f"| votes/s | {loop['votes_per_second']:.0f} | {bare['votes_per_second']:.0f} |"
    yield f"| votes | {loop['votes']:,} | {bare['votes']:,} |"
    yield f"| seconds | {loop['seconds']:.1f} | {bare['seconds']:.1f} |"
    for name in ("p50", "p95", "max"):
        yield f"| submit with next story, {name} ms | {submit[f'{name}_ms']:.1f} | |"
    yield f"| web server CPU, ms per vote | {loop['server_cpu_ms_per_vote']:.2f} | |"
    for name, title in (("postgres", "PostgreSQL"), ("client", "client")):
        key = f"{name}_cpu_ms_per_vote"
        yield f"| {title} CPU, ms per vote | {loop[key]:.2f} | {bare[key]:.2f} |"
    yield f"| transactions per vote | {loop['transactions_per_vote']:.1f} | |"
    yield f"| errors | {len(loop['errors'])} | |"
    yield f"| stories over their limit | {loop['stories_over_limit']} | |"
    yield f"| receipts without a stored vote | {loop['receipts_without_vote']} | |"
    yield f"| integrity checks broken | {_names(loop)} | {_names(bare)} |"
    yield f"| load average before | {loop['load_before']} | {bare['load_before']} |"
    yield f"| CPU taken by other programs | {loop['others_cpu']:.0%} | |"


def _names(measured: Facts) -> str:
    return ", ".join(measured["integrity_broken"]) or "none"


def _latencies(facts: Facts) -> Iterator[str]:
    found = facts["latencies"]
    if not found:
        yield "(--quick: no latencies at the big study)"
        return
    sizes = " | ".join(f"{one['stories']:,} stories" for one in found)
    yield f"| one annotator, {found[0]['submit']['requests']} requests each | {sizes} | ratio |"
    yield "|---|---:|---:|---:|"
    for kind, title in (("first_story", "first story"), ("submit", "submit with next story")):
        for name in ("p50", "p95"):
            small, big = (one[kind][f"{name}_ms"] for one in found)
            yield f"| {title}, {name} ms | {small:.1f} | {big:.1f} | {big / small:.2f} |"
    yield f"| load average before | {found[0]['load_before']} | | |"
