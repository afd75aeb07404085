"""Write a web page that runs one model on a camera, a microphone or files, beside the package of the model.

The page has no build step and asks no other server. Its files are those of the folder ``page`` beside this module. A
service worker keeps them, so the page works without a network and can be installed.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.converters.processing.post.postprocessing import KEY as AFTER
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.preprocessing import KEY as BEFORE
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from arenite.host.build.attachments import LABELS
from arenite.host.build.prepare import Prepared
from arenite.host.camera.model.camera_model import open_model
from arenite.host.update.repository.web_model import DESCRIPTION, SCHEMA
from arenite.host.web.updates.page_updates import PageUpdates, SourceDefaults, section

CAMERA, MICROPHONE, FILES = SOURCES = ("camera", "microphone", "files")
#: Width and height of the pictures that the page gives to the model, if the user names none.
DEFAULT_SIZE = (640, 480)
#: The microphone's answers per second.
_HOPS_PER_S = 4
#: What applies to new versions of the model. Most cameras have 30 pictures per second. Files can wait, and are few.
_UPDATE_DEFAULTS = {
    CAMERA: SourceDefaults(1000 / 30, 50, 100),
    MICROPHONE: SourceDefaults(1000 / _HOPS_PER_S, 20, 40),
    FILES: SourceDefaults(None, 3, 5),
}
_HEADINGS = {CAMERA: "Camera", MICROPHONE: "Microphone", FILES: "Files"}
_FOLDER = Path(__file__).with_name("page")
_FILE_LIST = "/* the files of the page */ []"


@dataclass(frozen=True)
class Page:
    """A page for the model ``model``. ``source`` is camera, microphone or files."""

    source: str
    model: str
    title: str
    sound: dict[str, int]  # rate and hop of the microphone; empty for pictures
    classes: tuple[str, ...] = ()  # the classes of a model that classifies
    collects: bool = False  # whether users can send samples to the server of the page
    updates: PageUpdates | None = None  # where the page gets newer versions of the model

    def files(
        self, package_files: Mapping[str, str | bytes], description: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return the text of each file of the page. ``package_files`` are the package's other files by their names, and
        ``description`` is that of the package. The name of the service worker's cache depends on the contents of all of
        them. Raises ``UsageError`` if the updates cannot be used."""
        texts = {path.name: path.read_text("utf-8") for path in sorted(_FOLDER.iterdir())}
        index = texts["index.html"].replace("@SCRIPTS@", _preloads(texts["page.js"]))
        origin = ""
        if self.updates is not None:
            texts.update(self.updates.files(self.model, _UPDATE_DEFAULTS[self.source]))
            origin = f" {self.updates.origin}" if self.updates.origin else ""
        index = index.replace("@UPDATES@\n", "" if self.updates is None else section())
        texts["index.html"] = self._fill(index.replace("@REPOSITORY@", origin))
        texts[DESCRIPTION] = self._model(description)
        texts["manifest.webmanifest"] = self._manifest()
        listed = ["./", *sorted(f"./{name}" for name in {*texts, *package_files} if name != "offline.js")]
        digest = hashlib.sha256()
        for name, content in sorted({**package_files, **texts}.items()):
            digest.update(name.encode() + b"\0" + (content.encode() if isinstance(content, str) else content))
        version = f"arenite-{self.model}-{digest.hexdigest()[:16]}"
        worker = texts["offline.js"].replace("@VERSION@", version)
        texts["offline.js"] = worker.replace(_FILE_LIST, json.dumps(listed))
        return texts

    def _fill(self, text: str) -> str:
        values = {
            "TITLE": self.title,
            "SOURCE": self.source,
            "MODEL": self.model,
            "INPUT": _HEADINGS[self.source],
            "SOUND": json.dumps(self.sound),
            "COLLECT": "" if not self.collects else "recordings" if self.sound else "pictures",
            "CLASSES": json.dumps(self.classes),
            "TAKES-UPDATES": "" if self.updates is None else "yes",
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", html.escape(value))
        return text

    def _model(self, description: Mapping[str, Any]) -> str:
        """Return the text of ``model.json``, with which the model can be published for pages that take updates."""
        content = {
            "schema": SCHEMA,
            "source": self.source,
            "sound": self.sound or None,
            "files": description["files"],
            "models": description["models"],
        }
        return json.dumps(content, indent=1) + "\n"

    def _manifest(self) -> str:
        """Return the text of the web app manifest, with which browsers can install the page."""
        return json.dumps(
            {
                "name": self.title,
                "short_name": self.title[:12],
                "start_url": "./",
                "scope": "./",
                "display": "standalone",
                "background_color": "#14110f",
                "theme_color": "#14110f",
                "icons": [
                    {"src": "./icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any maskable"}
                ],
            },
            indent=1,
        )


def page_model(
    name: str,
    prepared: Prepared,
    source: str,
    size: tuple[int, int] = DEFAULT_SIZE,
    *,
    collects: bool = False,
    updates: PageUpdates | None = None,
) -> tuple[Prepared, Page]:
    """Return ``prepared`` with the steps that the page needs in its metadata, and the page. With ``collects``, users of
    the page can send samples to its server. With ``updates``, the page takes newer versions of the model.

    Pictures arrive as RGBA pixels of ``size`` (width, height). Steps that the image does not record are taken from
    where ``arenite camera`` takes them: the file's TFLite metadata, the zoo, else the shape of the input.

    Raises ``UsageError`` if the model takes sound but ``source`` is the camera, or the reverse.
    """
    recorded = prepared.extra.get(BEFORE)
    spec = None if recorded is None else Preprocessing.from_json(recorded)
    title = name if source == FILES else f"{name} on the {source}"
    if spec is not None and isinstance(spec.source, AudioSource):
        if source == CAMERA:
            raise UsageError(
                f"{prepared.path.name} takes sound, not pictures.", "Use --page microphone or --page files."
            )
        rate = spec.source.rate
        classes = _classes(prepared.extra)
        return prepared, Page(
            source, name, title, {"rate": rate, "hop": rate // _HOPS_PER_S}, classes, collects, updates
        )
    if source == MICROPHONE:
        raise UsageError(
            f"{prepared.path.name} records no preprocessing of sound.",
            "Convert it with --preprocessing FILE (docs/processing.md), or use --page camera.",
        )
    model = open_model(str(prepared.path))
    pictures = replace(model.preprocessing.real, source=ImageSource("rgba", *size))
    extra: dict[str, Any] = {**prepared.extra, BEFORE: pictures.to_json(), LABELS: list(model.labels)}
    if model.postprocessing is not None:
        extra[AFTER] = model.postprocessing.to_json()
    return replace(prepared, extra=extra), Page(source, name, title, {}, _classes(extra), collects, updates)


def _preloads(script: str) -> str:
    """Return links with which a browser loads the modules that ``script`` imports at once with the script itself."""
    names = re.findall(r'^import .* from "(\./[^"]+)";$', script, re.MULTILINE)
    return "".join(f'<link rel="modulepreload" href="{name}">\n' for name in names)


def _classes(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of a model that classifies; () for a model that finds boxes, points or masks."""
    steps = extra.get(AFTER, {}).get("steps", [])
    return tuple(extra.get(LABELS, ())) if all(step["do"] == "top_k" for step in steps) else ()
