"""The card as HTML for the release's public page. Pure.

HTML in the card stays text, links are those that markdown-it-py allows, images are only the release's own
files, and no element needs inline style, which the content security policy blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class RenderedCard:
    """The body of a card as HTML, and its sections as (id, title)."""

    html: str
    sections: tuple[tuple[str, str], ...]


def rendered(card: str, file_url: Callable[[str], str | None]) -> RenderedCard:
    """Render the card without front matter and title. ``file_url`` maps the release's own paths to URLs."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")
    front, rule, body = card.partition("\n---\n")  # the YAML block
    tokens = parser.parse(body if rule and front.startswith("---\n") else card)
    tokens = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    sections = _mark_headings(tokens)
    _mark_cells(tokens)
    for token in tokens:
        token.children = _own_pictures(token.children or [], file_url)
    html: str = parser.renderer.render(tokens, parser.options, {})
    return RenderedCard(html, tuple(sections))


def _mark_headings(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Move headings below that of the page, give sections an id, and label tables with their section."""
    sections: list[tuple[str, str]] = []
    heading, tables = "", 0
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            heading, tables = "".join(child.content for child in tokens[place + 1].children or []), 0
            if token.tag == "h2":
                sections.append((f"card-{len(sections) + 1}", heading))
                token.attrSet("id", sections[-1][0])
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        if token.type == "table_open":
            tables += 1
            token.meta["label"] = f"{heading} ({tables})"
    return sections


def _mark_cells(tokens: Sequence[Token]) -> None:
    """Give header cells their scope, and align figures by a class instead of a style."""
    in_body = first = False
    for token in tokens:
        if token.type in ("tbody_open", "tbody_close"):
            in_body = token.type == "tbody_open"
        elif token.type == "tr_open":
            first = True
        elif token.type in ("th_open", "td_open"):
            if token.attrs.pop("style", ""):
                token.attrSet("class", "number")
            if token.type == "th_open":
                token.attrSet("scope", "col")
            elif in_body and first:
                token.tag = "th"
                token.attrSet("scope", "row")
        elif token.type == "td_close" and in_body and first:
            token.tag, first = "th", False


def _own_pictures(children: list[Token], file_url: Callable[[str], str | None]) -> list[Token]:
    """Give images the URL of their file; replace one that is not in the release by its description."""
    shown = []
    for child in children:
        if child.type != "image":
            shown.append(child)
        elif url := file_url(str(child.attrs.get("src", ""))):
            child.attrSet("src", url)
            child.attrSet("class", "chart")
            child.attrSet("loading", "lazy")
            shown.append(child)
        else:
            shown += child.children or []
    return shown


def _fence(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Mapping[str, object], env: object
) -> str:
    """Render a code block that the keyboard can scroll."""
    token = tokens[place]
    name = escapeHtml(token.info or "code")
    return f'<pre tabindex="0" aria-label="{name}"><code>{escapeHtml(token.content)}</code></pre>\n'


def _table_open(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Mapping[str, object], env: object
) -> str:
    """Open a table in a region that scrolls by itself, also by keyboard."""
    label = escapeHtml(tokens[place].meta["label"])
    return f'<div class="table-scroll" role="region" tabindex="0" aria-label="{label}">\n<table>\n'
