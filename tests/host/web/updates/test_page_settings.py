"""The options of pages that take updates: what they write into the page, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.cli.firmware.web_updates import page_updates
from arenite.host.web.updates.page_updates import PageUpdates, SourceDefaults

DEFAULTS = SourceDefaults(40.0, 50, 100)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root.json"
    path.write_text('{"signed": {"_type": "root"}, "signatures": []}')
    return path


def test_settings_have_the_defaults_of_the_source(root: Path) -> None:
    files = PageUpdates("../models/", root).files("net", DEFAULTS)
    assert json.loads(files["updates.json"]) == {
        "repository": "../models",
        "name": "net",
        "root": root.read_text(),
        "check_every_s": 3600.0,
        "shadow_inputs": 50,
        "probation_inputs": 100,
        "min_agreement": 0.8,
        "latency_ms": 40.0,
    }
    assert {"updater.js", "shadow_worker.js", "signed_metadata.js"} <= set(files)
    changed = PageUpdates("../models", root, shadow_inputs=0, max_latency_ms=5).files("net", DEFAULTS)
    settings = json.loads(changed["updates.json"])
    assert settings["shadow_inputs"] == 0 and settings["latency_ms"] == 5
    with pytest.raises(UsageError, match="'_net' is not a name of a model"):
        PageUpdates("../models", root).files("_net", DEFAULTS)
    root.write_text("{}")
    with pytest.raises(UsageError, match="is not the root metadata"):
        PageUpdates("../models", root).files("net", DEFAULTS)


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://models.example.org/net", "https://models.example.org"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://[::1]:8443/", "https://[::1]:8443"),
        ("../models", ""),
        ("models/", ""),
    ],
)
def test_the_origin_is_that_of_the_address(address: str, origin: str, root: Path) -> None:
    assert PageUpdates(address, root).origin == origin


@pytest.mark.parametrize(
    "address",
    ["", "/models", "//host/models", "ftp://host/x", "file:///models", "https://user:word@host/x", "https://host/x?y",
     "https://host/#y", "https://host; script-src *", "https://a b/", "models;x", 'https://"host"/', "https:///x"],
)  # fmt: skip
def test_addresses_that_no_page_can_use(address: str, root: Path) -> None:
    with pytest.raises(UsageError, match="A page cannot read a repository"):
        PageUpdates(address, root)


def test_options_that_do_not_fit_together(root: Path) -> None:
    assert page_updates("camera", updates=None, trusted_root=None, shadow=None) is None
    given = page_updates("camera", updates="../models", trusted_root=root, shadow=7, check_every=None)
    assert given == PageUpdates("../models", root, shadow_inputs=7)
    with pytest.raises(UsageError, match="--check-every is an option of --updates"):
        page_updates("camera", updates=None, check_every=5.0)
    with pytest.raises(UsageError, match="needs the trusted root"):
        page_updates("camera", updates="../models")
    with pytest.raises(UsageError, match="no page is written"):
        page_updates(None, updates="../models", trusted_root=root)
    with pytest.raises(UsageError, match="min_agreement is 2"):
        PageUpdates("../models", root, min_agreement=2)
