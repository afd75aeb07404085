"""A page without a model, for tests of its server."""

from __future__ import annotations

from pathlib import Path

POLICY = "default-src 'none'; connect-src 'self'"


def write_page(folder: Path) -> Path:
    """Write a folder with the files that a server of pages needs."""
    folder.mkdir(parents=True, exist_ok=True)
    page = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>page</title>'
    (folder / "index.html").write_text(page)
    (folder / "model.wasm").write_bytes(b"\0asm")
    return folder
