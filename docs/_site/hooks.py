"""MkDocs hooks that make the same Markdown files readable on GitHub and on the site.

- CONTRIBUTING.md and CHANGELOG.md, which are at the top of the repository, become pages of the site.
- A link to a file outside docs/ leads to a copy of that file in the site. A link to a folder leads to a page that lists
  the folder.
- mkdocs-click shows Click's marker for "no default" as a default value. The hooks remove it.
- The hooks remove HTML comments that mark generated tables, because Python-Markdown recognizes a table only after an
  empty line.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

#: Files at the top of the repository that become pages of the site.
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
#: Folder of the site for copies of linked files.
SOURCE = "source"

_LINK = re.compile(r"(\]\()([^)\s]+)(\))")
_FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!--.*?-->[ ]*$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the top of the repository, and a copy of each file outside docs/ that a page links to."""
    root = _root(config)
    for name, uri in ROOT_PAGES.items():
        files.append(File.generated(config, uri, content=(root / name).read_text("utf-8")))
    for file in list(files.documentation_pages()):
        folder = _folder_in_repository(file.src_uri)
        for target in _targets(file.content_string):
            path = _outside(folder, target)
            if path is None:
                continue
            if not (root / path).exists():
                raise PluginError(f"{file.src_uri} links to {target}, but the repository has no {path}.")
            uri = _site_uri(root, path)
            if files.get_file_from_path(uri) is None:
                files.append(_copy(config, root, path, uri))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links to files outside docs/, and remove comments. Leave fenced code unchanged."""
    root, folder = _root(config), _folder_in_repository(page.file.src_uri)
    here = posixpath.dirname(page.file.src_uri)

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        path = _outside(folder, target) if target else None
        if path is not None:
            target = posixpath.relpath(_site_uri(root, path), here or ".")
        elif page.file.src_uri in ROOT_PAGES.values() and target and "://" not in target:
            target = posixpath.relpath(posixpath.normpath(posixpath.join(folder, target)), "docs")
        return f"{match[1]}{target}{'#' + anchor if anchor else ''}{match[3]}"

    def prose(text: str) -> str:
        return _LINK.sub(link, _COMMENT.sub("", text))

    out, end = [], 0
    for fence in _FENCE.finditer(markdown):
        out += [prose(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*out, prose(markdown[end:])])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Clear the default in the tables of options if an option has none."""
    return html.replace("<td><code>Sentinel.UNSET</code></td>", "<td></td>")


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent


def _folder_in_repository(uri: str) -> str:
    """Return the folder that a page's links are relative to, as a path in the repository."""
    return "" if uri in ROOT_PAGES.values() else posixpath.join("docs", posixpath.dirname(uri))


def _targets(markdown: str) -> list[str]:
    return [m[2].partition("#")[0] for m in _LINK.finditer(_FENCE.sub("", markdown))]


def _outside(folder: str, target: str) -> str | None:
    """Return the link's target as a path in the repository if it is outside docs/, otherwise None."""
    if not target or "://" in target or target.startswith(("mailto:", "/")):
        return None
    path = posixpath.normpath(posixpath.join(folder, target))
    return None if path == "docs" or path.startswith(("docs/", "..")) else path


def _site_uri(root: Path, path: str) -> str:
    """Return the site's path of a file or folder of the repository."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path == "README.md":
        return "index.md"
    uri = posixpath.join(SOURCE, path)
    if (root / path).is_dir():
        return f"{uri}/index.md"
    # The suffix .txt makes a browser show the file as text, and keeps MkDocs from treating it as a page.
    return f"{uri}.txt" if path.endswith((".md", ".toml", ".py", ".c", ".h", ".S", ".ld")) else uri


def _copy(config: MkDocsConfig, root: Path, path: str, uri: str) -> File:
    source = root / path
    if source.is_dir():
        names = sorted(
            p.name + "/" * p.is_dir() for p in source.iterdir() if not p.name.startswith(("_", "."))
        )
        text = f"# {path}\n\n" + "".join(f"- `{name}`\n" for name in names)
        return File.generated(config, uri, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
    return File.generated(config, uri, content=source.read_bytes(), inclusion=InclusionLevel.NOT_IN_NAV)
