"""Find the pages of the documentation, their links, and the anchors of their headings."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: All Markdown files for readers: the site's pages, and the files in the root folder of the repository.
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])

_FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?: {4,}.*\n)+", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    """Return the path of the page in the repository."""
    return page.relative_to(ROOT).as_posix()


def links(text: str) -> list[str]:
    """Return the targets of the links and pictures in a page with this Markdown text, without addresses of other
    sites."""
    prose = _CODE.sub("", _INDENTED.sub("", _FENCE.sub("", text)))
    return [t for t in _LINK.findall(prose) if "://" not in t and not t.startswith("mailto:")]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub and the site give to the headings of a page. Anchors of repeated headings are
    numbered."""
    counts: dict[str, int] = {}
    result = set(re.findall(r"<a id=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.+?)\s*#*$", _FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


@cache
def tracked() -> frozenset[str]:
    """Return the files of the repository and their folders. Outside of a git clone, return all files."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
    )
    files = (
        listing.stdout.split("\n")
        if listing.returncode == 0
        else [name(p) for p in ROOT.rglob("*") if p.is_file()]
    )
    folders = {parent.as_posix() for file in files if file for parent in Path(file).parents}
    return frozenset({f for f in files if f} | folders)
