"""A page that takes updates and its repository, on a server of static files: built once, copied for each test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from arenite.host.interface.web import web
from arenite.host.update.keys import generate_key
from arenite.host.update.repository.model_target import ModelTarget
from arenite.host.update.repository.publisher import (
    Expiry,
    RoleKeys,
    add_model,
    init_repository,
    refresh_repository,
)
from arenite.host.web.updates.page_updates import PageUpdates
from tests.browser import Browser
from tests.firmware.library.processing_cases import save
from tests.host.small_graphs import classifier
from tests.host.web.page_parts import FAKE_DEVICES, STATUS
from tests.host.web.served import served

SIZE = (96, 64)  # width and height of the pictures that the page gives to its model
LABELS = [f"name {k}" for k in range(5)]
#: The file of a network with large activations: it needs some hundred times as long as the others.
SLOW_SIZE, SLOW_CHANNELS = 160, 128
# JavaScript for parts of the page: the state of the updates, all events, and a figure.
STATE = "document.getElementById('update-state').textContent"
EVENTS = "[...document.querySelectorAll('#update-events li')].map((li) => li.textContent)"


def figure(name: str) -> str:
    """Return JavaScript for the text of a figure of the page; "" if it has none."""
    return (
        "([...document.querySelectorAll('dt')]"
        f".find((t) => t.textContent === '{name}')?.nextSibling.textContent ?? '')"
    )


SERVING = figure("model")
#: The numbers of inputs and of answers, which the page renews twice per second.
COUNTS = f"[Number({figure('inputs')}), Number({figure('answers')})]"


def write_page(
    folder: Path, name: str, *, size: int = 12, channels: int = 6, best: int = 2, picture: tuple[int, int] = SIZE,
    labels: list[str] = LABELS, updates: PageUpdates | None = None,
) -> Path:  # fmt: skip
    """Write the page ``folder``/``name`` with a classifier of pictures for the camera. Return its folder."""
    steps = [
        {"do": "resize", "width": size, "height": size},
        {"do": "normalise", "divide": 127.5, "mean": 1.0},
    ]
    metadata = {
        "preprocessing": {"source": {"kind": "image", "format": "rgb"}, "steps": steps},
        "postprocessing": {"steps": [{"do": "top_k", "k": best}]},
        "labels": labels,
    }
    network = classifier(size, channels)
    path = save(network, metadata, folder / f"{name}.tflite").path
    web(
        {"net": path}, folder / name, page="camera", page_size=picture, page_updates=updates,
        simd=False,
    )  # fmt: skip
    return folder / name


@dataclass
class Site:
    """The folders ``page`` and ``models`` below ``folder``, the keys of the repository, and pages to publish."""

    folder: Path
    versions: Path
    keys: RoleKeys = field(init=False)

    def __post_init__(self) -> None:
        self.keys = RoleKeys(*(self.versions / f"{name}.pem" for name in ("root", "targets", "online")))

    @property
    def repository(self) -> Path:
        return self.folder / "models"

    def publish(
        self, page: str | Path, version: str, now: datetime | None = None, **more: int | None
    ) -> ModelTarget:
        """Publish the page ``page`` of ``versions``, or another path, as the present version of the model."""
        return add_model(
            self.repository, self.versions / page, "net", version, self.keys, expiry=Expiry(now=now), **more
        )

    def refresh(self, now: datetime | None = None) -> None:
        refresh_repository(self.repository, RoleKeys(online=self.keys.online), Expiry(now=now))

    def set(self, **settings: Any) -> None:
        """Change settings of the page's updates."""
        path = self.folder / "page" / "updates.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))

    @contextmanager
    def opened(self, profile: Path) -> Iterator[Browser]:
        """Serve the site, open the page, and wait until it is ready and has checked the repository once or waits for
        inputs. At the end, the only errors of its console are those of files that the repository does not have."""
        with served(self.folder) as address, Browser(profile, *FAKE_DEVICES) as browser:
            browser.open(f"{address}/page/")
            browser.until(f"{STATUS} === 'Ready'")
            yield browser
            assert [e for e in browser.errors if ".root.json" not in e or "404" not in e] == []


def build(folder: Path) -> Site:
    """Build a site in ``folder``/site with an empty repository, and the versions to publish."""
    versions, site = folder / "versions", folder / "site"
    versions.mkdir()
    built = Site(site, versions)
    for path in (built.keys.root, built.keys.targets, built.keys.online):
        assert path is not None
        generate_key(path)
    root = init_repository(site / "models", built.keys)
    updates = PageUpdates("../models", root, check_every_s=86400, max_latency_ms=8)
    write_page(site, "page", updates=updates)
    write_page(versions, "same", best=3)
    write_page(versions, "other", labels=[f"other {k}" for k in range(5)])
    write_page(versions, "slow", size=SLOW_SIZE, channels=SLOW_CHANNELS)
    write_page(versions, "larger", picture=(128, 96))
    return built


def copied(site: Site, folder: Path) -> Site:
    """Return a copy of a site, for one test. The keys and the versions are the same."""
    shutil.copytree(site.folder, folder / "site")
    return Site(folder / "site", site.versions)


def start(browser: Browser) -> None:
    """Start the camera of the page."""
    browser.value("document.getElementById('start').click()")
    browser.until(f"{STATUS} === 'Running'")


def stopped_counts(browser: Browser) -> list[int]:
    """Stop the camera, and return the numbers of inputs and answers."""
    browser.value("document.getElementById('start').click()")
    browser.until(f"{STATUS} === 'Stopped'")
    browser.value("new Promise((done) => setTimeout(done, 1200))")
    counts: list[int] = browser.value(COUNTS)
    return counts


def check_now(browser: Browser) -> None:
    """Press the button of the updates, and wait until the check has begun or ended."""
    browser.until("!document.getElementById('check-updates').disabled")
    browser.value("document.getElementById('update-state').textContent = ''")
    browser.value("document.getElementById('check-updates').click()")
    browser.until(f"{STATE} !== '' && !{STATE}.startsWith('Checking')")
