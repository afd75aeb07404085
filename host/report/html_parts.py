"""Functions that return parts of HTML pages: style, document, tables. The pages load no script, font or picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d6dce4; --page: #fff; --a: #2f6fb5;
  --b: #c06a1b; --c: #4d8a3d; --d: #8a5bb0; --good: #2b7a3d; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --soft: #9aa7b8; --line: #38424f; --page: #14181e;
  --a: #6fa8e6; --b: #e39a52; --c: #86c373; --d: #bd93e0; --good: #7fcf91; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1080px;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
p.sub, .kind { color: var(--soft) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { overflow-wrap: normal; padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top } th { color: var(--soft); font-weight: 600 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.cards { display: flex; flex-wrap: wrap; gap: .8rem } .card { border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .9rem; min-width: 9rem } .card b { display: block; font-size: 1.25rem }
.bar { display: flex; height: 1.5rem; border-radius: 4px; overflow: hidden; background: var(--line) }
.bar span { display: block } .key { margin-right: 1rem; white-space: nowrap } .key i { display: inline-block;
  width: .8em; height: .8em; border-radius: 2px; margin-right: .35em }
.meter { display: inline-block; height: .7em; background: var(--a); border-radius: 2px; vertical-align: middle }
.yes { color: var(--good); font-weight: 600 } .no { color: var(--bad); font-weight: 600 }
svg { max-width: 100%; height: auto } .wide svg { max-width: none }
.track { display: inline-block; position: relative; width: 9rem; height: .7em; background: var(--line);
  border-radius: 2px; vertical-align: middle } .track span { position: absolute; top: 0; bottom: 0; border-radius: 2px }
td.name { overflow-wrap: anywhere; min-width: 11rem; max-width: 24rem } td.keep { white-space: nowrap }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; font-size: .87rem }
summary { cursor: pointer; color: var(--soft) }
@media (max-width: 600px) { body { margin: 1rem auto } h1 { font-size: 1.3rem }
  .card { flex: 1 1 40% } th, td { padding: .25rem .4rem } }
"""


def document(title: str, parts: Sequence[str]) -> str:
    """Return a complete HTML page. ``parts`` are the HTML elements of its body."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def head(*columns: str) -> str:
    """Return the first row of a table. The cells of a column whose title ends with ":n" are right-aligned; the title is
    shown without ":n"."""
    cells = (f'<th class="n">{c[:-2]}</th>' if c.endswith(":n") else f"<th>{c}</th>" for c in columns)
    return f"<tr>{''.join(cells)}</tr>"


def text(value: object) -> str:
    """Return ``value`` as escaped text. Control characters that HTML and XML forbid are replaced by U+FFFD."""
    return escape("".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in str(value)))


def table(first: str, rows: Iterable[str]) -> str:
    """Return a table that scrolls sideways on a narrow page. ``first`` is the row that ``head`` returns."""
    return f'<div class="scroll"><table>{first}{"".join(rows)}</table></div>'


def row(*cells: object) -> str:
    """Return a row of a table.

    Numbers, and texts that begin with a digit, a sign or "~", are right-aligned. A ``RawCell`` is already HTML.
    """
    return "<tr>" + "".join(c if isinstance(c, RawCell) else _cell(c) for c in cells) + "</tr>"


class RawCell(str):
    """The complete HTML of a table cell, including its <td> or <th> tags."""


def name_cell(value: object) -> RawCell:
    """Return a cell for a long name, which may break after a slash or an underscore."""
    breakable = re.sub("([/_])", r"\1<wbr>", text(value))
    return RawCell(f'<td class="name">{breakable}</td>')


def number_cell(value: object) -> RawCell:
    """Return a right-aligned cell with a number, or with a text in place of a number."""
    return RawCell(f'<td class="n">{text(value)}</td>')


def span_cell(low: float, high: float) -> RawCell:
    """Return a cell with a range of real values."""
    return RawCell(f'<td class="keep">{low:.4g} to {high:.4g}</td>')


def track(*spans: tuple[float, float, str]) -> RawCell:
    """Return a cell with a bar that has colored parts. Each of ``spans`` is (start, end, color), with start and end as
    fractions of the bar's width."""
    spans_html = "".join(
        f'<span style="left:{100 * a:.1f}%;width:{100 * max(b - a, 0.01):.1f}%;background:{color}"></span>'
        for a, b, color in spans
        if b > a
    )
    return RawCell(f'<td><span class="track">{spans_html}</span></td>')


def cards(cells: Sequence[tuple[str, str]]) -> str:
    """Return a row of cards. Each of ``cells`` is (value, description)."""
    cards_html = "".join(f'<div class="card"><b>{text(v)}</b>{text(k)}</div>' for v, k in cells)
    return f'<div class="cards">{cards_html}</div>'


def bullet_list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{text(t)}</li>" for t in texts)
    return f"<ul>{items}</ul>" if items else ""


def _cell(value: object) -> str:
    numeric = isinstance(value, int) or str(value).lstrip("~+-\u2212\u00b1")[:1].isdigit()
    return f'<td class="n">{text(value)}</td>' if numeric else f"<td>{text(value)}</td>"
