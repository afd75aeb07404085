"""A page in Chromium takes signed versions of its model from a server of files, and refuses or returns others."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arenite.host.update.keys import generate_key
from arenite.host.update.repository.publisher import RoleKeys, init_repository
from tests.axe import axe_script, barriers
from tests.browser import BROWSER, Browser
from tests.host.web.page_parts import COUNT, PROBLEM, STATUS
from tests.host.web.updates.failing_module import write_failing_page
from tests.host.web.updates.root_rotation import rotate_roots
from tests.host.web.updates.update_site import (
    EVENTS,
    SERVING,
    STATE,
    Site,
    build,
    check_now,
    copied,
    start,
    stopped_counts,
)

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("tuf", reason="needs tuf")
pytest.importorskip("wasmtime", reason="needs wasmtime")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

OWN = "net (the page's own model)"
#: A date in the past on which an online signature of seven days is valid no more.
LONG_AGO = datetime.now(UTC) - timedelta(days=30)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("updates"))


@pytest.fixture
def site(built: Site, tmp_path: Path) -> Site:
    return copied(built, tmp_path)


def reload(browser: Browser) -> None:
    browser.value("window.isEarlierPage = true")
    browser.call("Page.reload")
    browser.until(f"!window.isEarlierPage && document.readyState === 'complete' && {STATUS} === 'Ready'")


def test_a_good_version_takes_over_and_stays(site: Site, tmp_path: Path) -> None:
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('The repository has no net.')")
        start(browser)
        site.publish("same", "2.0.0")
        check_now(browser)
        browser.until(f"{STATE}.includes('passed its probation')")
        assert browser.value(SERVING) == "net 2.0.0" and browser.value(PROBLEM) == ""
        inputs, answers = stopped_counts(browser)
        assert inputs == answers >= 150  # those of the shadow run and of the probation
        events = browser.value(EVENTS)
        shadow = next(e for e in events if "Shadow run of net 2.0.0" in e)
        assert "agreement 1.000 on 50 inputs" in shadow and "Power is not measured" in shadow
        assert (
            len(browser.value("[...document.querySelectorAll('#answers li')]")) == 3
        )  # the new postprocessing
        reload(browser)
        assert browser.value(SERVING) == "net 2.0.0"
        browser.until(f"{STATE} === 'net 2.0.0 is the newest version.'")
        assert "net 2.0.0 was stored, verified again, and answers." in browser.value(EVENTS)[0]
        # A stored model that was changed is given up.
        browser.value(_CHANGE_STORED)
        (site.repository / "metadata" / "timestamp.json").unlink()
        reload(browser)
        assert browser.value(SERVING) == OWN
        assert any("The stored version is not used" in e for e in browser.value(EVENTS))
        browser.until(f"{STATE}.includes('the server answered 404')")
        browser.errors[:] = [e for e in browser.errors if "timestamp.json" not in e]


#: Changes a byte of the stored module, in the browser's database.
_CHANGE_STORED = """
new Promise((done, failed) => {
  const request = indexedDB.open("arenite-updates");
  request.onsuccess = () => {
    const table = request.result.transaction("values", "readwrite").objectStore("values");
    table.openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (cursor === null) { request.result.close(); done(); return; }
      if (cursor.key.endsWith("/accepted")) {
        cursor.value.bytes[100] ^= 1;
        cursor.update(cursor.value);
      }
      cursor.continue();
    };
  };
  request.onerror = failed;
})"""


@pytest.mark.parametrize(
    ("page", "needs_inputs", "reason"),
    [
        ("other", True, "agreed to 0.000 with those of the model before, and at least 0.8 is required"),
        ("slow", True, "per answer (median), and the limit is"),
        ("larger", False, "It takes pictures of 128x96 rgba, and this page gives 96x64 rgba."),
        ("same.tflite", False, "It is a model of the kind image, and pages run the kind web."),
    ],
)
def test_a_version_that_does_not_fit_is_refused_and_remembered(
    page: str, needs_inputs: bool, reason: str, site: Site, tmp_path: Path
) -> None:
    target = site.publish(page, "2.0.0")
    assert target.kind == ("image" if page == "same.tflite" else "web")
    with site.opened(tmp_path / "profile") as browser:
        if needs_inputs:
            browser.until(f"{STATE}.startsWith('Shadow run of net 2.0.0: 0 of 50')")
            start(browser)
        browser.until(f"{STATE}.startsWith('net 2.0.0 was refused.')")
        assert reason in browser.value(STATE) and browser.value(STATE).endswith(f"{OWN} goes on.")
        assert browser.value(SERVING) == OWN
        if needs_inputs:
            inputs, answers = stopped_counts(browser)
            assert inputs == answers > 0
        reload(browser)
        browser.until(f"{STATE}.startsWith('net 2.0.0 is not used: ')")
        assert reason in browser.value(STATE)
        if target.kind != "web":
            return  # the name stays with models of this kind
        # A better version is tried again.
        site.publish("same", "3.0.0")
        check_now(browser)
        browser.until(f"{STATE}.startsWith('Shadow run of net 3.0.0')")


def test_a_slow_version_gives_back_by_itself(site: Site, tmp_path: Path) -> None:
    site.set(shadow_inputs=0, min_agreement=0)
    site.publish("slow", "2.0.0")
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('net 2.0.0 answers, on probation')")
        assert browser.value(SERVING) == "net 2.0.0"
        start(browser)
        browser.until(f"{STATE}.includes('because net 2.0.0 broke a limit: it takes ')")
        assert browser.value(SERVING) == OWN
        inputs, answers = stopped_counts(browser)
        assert inputs == answers > 0
        check_now(browser)
        browser.until(f"{STATE}.startsWith('net 2.0.0 is not used: It takes ')")


@pytest.mark.parametrize(
    ("limit", "imports", "reason"),
    [
        # Three inferences warm a version up in the worker, and three in the page.
        (2, "", "It failed in its trial: unreachable."),
        (20, "", "It failed in its trial: unreachable."),
        (
            10**9,
            '(import "env" "now" (func))',
            "Its module imports env.now, and modules of Arenite import nothing.",
        ),
    ],
)
def test_a_version_that_fails_in_the_worker_is_refused(
    limit: int, imports: str, reason: str, site: Site, tmp_path: Path
) -> None:
    site.set(min_agreement=0)
    site.publish(write_failing_page(site.versions / "same", tmp_path / "failing", limit, imports), "2.0.0")
    with site.opened(tmp_path / "profile") as browser:
        start(browser)
        browser.until(f"{STATE}.startsWith('net 2.0.0 was refused.')")
        assert reason in browser.value(STATE) and browser.value(SERVING) == OWN
        browser.until(f"{COUNT} >= 5")  # the page goes on
        inputs, answers = stopped_counts(browser)
        assert inputs == answers > 0


def test_the_version_before_answers_the_same_input_if_the_new_one_fails(site: Site, tmp_path: Path) -> None:
    site.set(min_agreement=0, shadow_inputs=0)
    site.publish(write_failing_page(site.versions / "same", tmp_path / "failing", 30), "2.0.0")
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('net 2.0.0 answers, on probation')")
        start(browser)
        browser.until(f"{STATE}.includes('because net 2.0.0 broke a limit: it failed: unreachable')")
        assert browser.value(SERVING) == OWN and browser.value(PROBLEM) == ""
        inputs, answers = stopped_counts(browser)
        assert inputs == answers >= 27
        check_now(browser)
        browser.until(f"{STATE}.startsWith('net 2.0.0 is not used: It failed: unreachable')")


def _changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def _tamper_module(site: Site) -> None:
    (module,) = (site.repository / "targets" / "net").glob("*.wasm")
    _changed(module)


def _lengthen_module(site: Site) -> None:
    (module,) = (site.repository / "targets" / "net").glob("*.wasm")
    module.write_bytes(module.read_bytes() + b"\0")


def _tamper_targets(site: Site) -> None:
    path = site.repository / "metadata" / "2.targets.json"
    path.write_text(path.read_text().replace('"counter": 1', '"counter": 9'))


def _expire(site: Site) -> None:
    site.refresh(now=LONG_AGO)


def _foreign(site: Site) -> None:
    """Replace the repository by one with other keys."""
    keys = {}
    for name in ("root", "targets", "online"):
        keys[name] = generate_key(site.folder / f"foreign-{name}.pem")
    names = (site.folder / f"foreign-{name}.pem" for name in keys)
    other = Site(site.folder / "foreign", site.versions)
    other.keys = RoleKeys(*names)
    init_repository(other.repository, other.keys)
    other.publish("same", "2.0.0")
    site.repository.rename(site.folder / "kept")
    other.repository.rename(site.repository)


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        (_tamper_module, "differs from the one that was signed"),
        (_lengthen_module, "is longer than the permitted"),
        (_tamper_targets, "The targets metadata differs from the one that was signed"),
        (_expire, "The timestamp metadata expired on"),
        (_foreign, "The timestamp metadata is not signed with the keys of the trusted root"),
    ],
)
def test_an_attack_is_told_and_the_page_goes_on(
    attack: Callable[[Site], Any], reason: str, site: Site, tmp_path: Path
) -> None:
    site.publish("same", "2.0.0")
    attack(site)
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.includes({json.dumps(reason)})")
        assert browser.value(STATE).endswith(f"{OWN} goes on.") and browser.value(SERVING) == OWN
        start(browser)
        inputs, answers = stopped_counts(browser)
        assert inputs == answers
        if attack is _foreign:
            site.repository.rename(site.folder / "foreign")
            (site.folder / "kept").rename(site.repository)
        # Nothing about the version was remembered: the publisher repairs the repository, and it is tried.
        site.publish("same", "2.0.1")
        check_now(browser)
        browser.until(f"{STATE}.startsWith('Shadow run of net 2.0.1')")


def test_the_section_has_no_barriers(site: Site, tmp_path: Path) -> None:
    site.publish("larger", "2.0.0")
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('net 2.0.0 was refused.')")
        for dark in (False, True):
            browser.size(400, 800, dark=dark, phone=True)
            assert barriers(browser, axe_script()) == []


def test_old_metadata_is_refused(site: Site, tmp_path: Path) -> None:
    site.publish("other", "2.0.0")
    metadata = site.repository / "metadata"
    before = {path: path.read_bytes() for path in metadata.iterdir()}
    site.publish("same", "3.0.0")
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('Shadow run of net 3.0.0')")
        for path, content in before.items():
            path.write_bytes(content)
        reload(browser)
        browser.until(f"{STATE}.includes('version 2, and version 3 is known')")
        assert browser.value(SERVING) == OWN


def test_a_lower_counter_than_required_is_refused(site: Site, tmp_path: Path) -> None:
    site.publish("same", "2.0.0", counter=5, min_counter=5)
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('Shadow run of net 2.0.0')")
        # The publisher's tool refuses this, so a publisher with another tool does it.
        rotate_roots(site, counter=3)
        reload(browser)
        browser.until(f"{STATE}.includes('with counter 3, but an earlier version required at least 5')")


def test_the_root_may_change_twice(site: Site, tmp_path: Path) -> None:
    rotate_roots(site)
    assert (site.repository / "metadata" / "3.root.json").exists()
    with site.opened(tmp_path / "profile") as browser:
        browser.until(f"{STATE}.startsWith('The repository has no net.')")
        with pytest.raises(Exception, match="not the one with which"):
            site.publish("same", "2.0.0")  # the keys from before are not valid any more
        site.keys = RoleKeys(*(site.folder / f"new-{name}.pem" for name in ("root", "targets", "online")))
        site.publish("same", "2.0.0")
        check_now(browser)
        browser.until(f"{STATE}.startsWith('Shadow run of net 2.0.0')")
        # A timestamp with the key from before is a foreign one now.
        _sign_with_old_key(site)
        reload(browser)
        browser.until(f"{STATE}.includes('not signed with the keys of the trusted root')")


def _sign_with_old_key(site: Site) -> None:
    from tuf.api.metadata import Metadata

    from arenite.host.update.repository.signing_keys import read_signer

    path = site.repository / "metadata" / "timestamp.json"
    metadata: Metadata[Any] = Metadata.from_file(str(path))
    metadata.signed.version += 1
    metadata.sign(read_signer(site.versions / "online.pem"))
    metadata.to_file(str(path))
