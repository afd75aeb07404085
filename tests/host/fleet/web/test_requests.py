"""The paths of the page over HTTP, and who may read them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from arenite.errors import UsageError
from arenite.host.fleet.open_database import open_database
from arenite.host.fleet.web.overview import PAGE_DEVICES, find_devices
from arenite.host.fleet.web.server import FleetPage
from tests.docs.pages import ROOT
from tests.host.fleet.direct_fleet import DirectFleet, SetClock
from tests.host.fleet.web.conftest import Running

TOKEN = "sand-and-pressure"


def test_the_overview_shows_the_rollout_and_the_audit(running: Running) -> None:
    status, headers, text = running.get("/overview")
    assert status == 200 and headers["Cache-Control"] == "no-store"
    data = json.loads(text)
    assert data["presence"] == {"online": 22, "silent": 2, "offline": 0}
    [rollout] = data["current"]
    assert (rollout["id"], rollout["state"]) == (1, "running")
    chosen = sum(sum(wave["devices"].values()) for wave in rollout["wave_list"])
    assert chosen == len(running.fleet.touched(1)) > 0
    states = [wave["state"] for wave in rollout["wave_list"]]
    assert states == ["passed"] * rollout["wave"] + ["running"] + ["waiting"] * (2 - rollout["wave"])
    assert "started the rollout of 2.0.0 to the group default" in {entry["text"] for entry in data["audit"]}
    times = [entry["time_ms"] for entry in data["audit"]]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("search", "total"),
    [
        ("", 24),
        ("d0007", 1),
        ("D000", 10),
        ("silent", 2),
        ("microbit online", 3),
        ("%25", 0),
        ("d_007", 0),
        ("!", 0),
    ],
)
def test_devices_are_found_by_words(search: str, total: int, running: Running) -> None:
    status, _, text = running.get(f"/devices?search={search.replace(' ', '%20')}")
    data = json.loads(text)
    assert status == 200
    assert data["total"] == len(data["devices"]) == total


def test_devices_come_in_pages(running: Running) -> None:
    data = json.loads(running.get("/devices?offset=20")[2])
    assert [d["device"] for d in data["devices"]] == ["d0020", "d0021", "d0022", "d0023"]
    assert [d["state"] for d in data["devices"]] == ["online", "online", "silent", "silent"]
    for offset in ("-1", "x", "9" * 40, "²"):
        status = running.get(f"/devices?offset={urllib.request.quote(offset)}")[0]  # type: ignore[attr-defined]
        assert status == 200


def test_a_request_returns_at_most_a_page(running: Running, tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "many.db"))
    with database.transaction() as transaction:
        transaction.execute_many(
            "INSERT INTO devices VALUES (?, 'b', 'c', 'g', 0, 0, 1, '', '', '', '', '', 0, 0, '', '', '', '')",
            [(f"n{k:04}",) for k in range(PAGE_DEVICES + 5)],
        )
        data = find_devices(transaction, 0, "", 0)
    database.close()
    assert (data["total"], len(data["devices"])) == (PAGE_DEVICES + 5, PAGE_DEVICES)


def test_unknown_paths_and_methods_are_refused(running: Running) -> None:
    assert running.get("/nothing")[0] == 404
    assert running.get("/overview", "POST")[0] == 405
    assert running.get("/overview", Host="evil.example")[0] == 421
    status, headers, text = running.get("/metrics", "HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 1000
    assert "default-src 'none'" in running.get("/")[1]["Content-Security-Policy"]


def test_the_token_guards_everything_but_the_health(fleet: DirectFleet) -> None:
    running = Running(fleet, Path(fleet.database.name), TOKEN)
    try:
        for path in ("/", "/metrics", "/overview", "/devices", "/page.js"):
            assert running.get(path)[0] == 401
            assert running.get(path, Authorization=f"Bearer {TOKEN}")[0] == 200
        assert running.get("/healthz")[0] == 200
    finally:
        running.page.close()
    database = open_database(fleet.database.name)
    with pytest.raises(UsageError, match=r"The fleet page on 0\.0\.0\.0 can be reached from other computers"):
        FleetPage(database, SetClock(), print, "0.0.0.0")


def test_a_reader_keeps_no_writer_waiting(running: Running) -> None:
    """The page answers while another program writes, and with what was committed before."""
    writer = sqlite3.connect(running.fleet.database.name, timeout=1, isolation_level=None)
    try:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE fleet SET name = 'other'")
        assert json.loads(running.get("/overview")[2])["status"]["fleet"] == "plant"
        writer.execute("ROLLBACK")
    finally:
        writer.close()
    with running.fleet.database.reading() as transaction:
        assert transaction.value("SELECT count(*) FROM devices") == 24
        other = sqlite3.connect(running.fleet.database.name, timeout=1, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        other.close()


def test_the_command_serves_until_it_is_stopped(fleet: DirectFleet) -> None:
    command = [sys.executable, "-m", "arenite.host.cli.main", "fleet", "web", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--database", fleet.database.name, "--token", "auto"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("The fleet is at http://127.0.0.1:") and "?token=" in line
        url, token = line.split()[-1].split("?token=")
        request = urllib.request.Request(f"{url}metrics", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b"arenite_fleet_devices{" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}metrics", timeout=60)
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
