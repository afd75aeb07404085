"""Tests of the command ``arenite duty``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.host.cli.conftest import Arenite

DEVICE = ("--active-mw", 36, "--sleep-uw", 15, "--wake-ms", 5, "--wake-uj", 120)


def test_the_power_of_the_example_in_the_documentation(arenite: Arenite) -> None:
    run = arenite(
        "duty", "--period", 30, "--service", 120, "--queue", 4, *DEVICE, "--battery", "cr2032", "--json"
    )
    assert run.code == 0
    actual = run.json
    assert actual["schema"] == "arenite.duty/1" and actual["kind"] == "estimated"
    # In a period of 30 s, the device takes 36 mW for 0.12 s, 120 uJ for waking up, and 15 uW while it sleeps.
    assert actual["power_w"] == pytest.approx((0.12 * 36e-3 + 120e-6 + (30 - 0.125) * 15e-6) / 30, rel=1e-6)
    assert actual["wait_s"]["mean"] == pytest.approx(0.005)
    assert actual["battery"]["name"] == "cr2032" and 100 < actual["battery"]["life_days"] < 250


def test_the_simulation_is_reported_with_the_prediction(arenite: Arenite) -> None:
    common = ("--rate", 4, "--service", 120, "--queue", 4, "--battery", "lipo_500", "--simulate", "--json")
    actual = arenite("duty", *common, *DEVICE).json
    simulation = actual["simulation"]
    assert simulation["events"] == 20_000
    for name in ("utilisation", "wait_mean_s", "power_w", "life_days"):
        assert abs(simulation[name]["difference"]) < 0.05
    assert simulation["utilisation"]["value"] != actual["utilisation"]


def test_the_svg_shows_the_battery_life_and_the_device(arenite: Arenite, tmp_path: Path) -> None:
    path = tmp_path / "life.svg"
    run = arenite(
        "duty", "--rate", 0.1, "--service", 120, *DEVICE, "--battery", "aa_lithium_pair", "--svg", path
    )
    assert run.code == 0 and "battery life" in run.out
    root = ElementTree.fromstring(path.read_text("utf-8"))
    space = {"s": "http://www.w3.org/2000/svg"}
    points = root.find("s:polyline", space)
    assert points is not None and len(points.attrib["points"].split()) > 20
    # Battery life grows with the time between events, so the y coordinates of the line decrease.
    ys = [float(p.split(",")[1]) for p in points.attrib["points"].split()]
    assert ys[0] > ys[-1]
    assert any("at 10 s" in (t.text or "") for t in root.findall("s:text", space))


@pytest.mark.slow
@pytest.mark.qemu
def test_the_emulated_board_agrees_with_the_prediction(arenite: Arenite, model: Path) -> None:
    common = (
        "duty",
        "--emulate",
        model,
        "--board",
        "qemu_mps2_an386",
        "--sleep-uw",
        10,
        "--queue",
        2,
        "--json",
    )
    service_ms = arenite(*common, "--period", 0.005, "--events", 200).json["service"]["mean_ms"]
    actual = arenite(*common, "--rate", 0.9 / service_ms * 1e3, "--events", 1000).json
    assert actual["service"]["kind"] == "estimated" and "virtual time" in actual["service"]["source"]
    board = actual["on_board"]
    assert board["events"] == 1000 and board["dropped"]["value"] > 0.05
    for name in ("utilisation", "wait_mean_s", "dropped"):
        assert abs(board[name]["difference"]) < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no source of event times"),
        (("--period", 1, "--rate", 1, *DEVICE), "exclude each other"),
        (("--period", 1, *DEVICE), "no service time"),
        (("--period", 1, "--service", 5), "not known"),
        (
            ("--period", 1, "--service", 5, "--board", "nucleo_f746zg"),
            "power of the sleeping device is not known",
        ),
        (("--rate", 10, "--service", 200, *DEVICE), "waits would never stop growing"),
        (("--period", 1, "--service", 5, *DEVICE, "--battery", "potato"), "potato"),
        (("--period", 1, "--service", 5, *DEVICE, "--queue", "many"), "not a number of places"),
        (("--period", 1, "--service", -5, *DEVICE), "above 0"),
        (("--trace", "none.csv", "--service", 5, *DEVICE), "none.csv"),
        (("--period", 1, "--bench", "none.json", *DEVICE), "none.json"),
        (("--period", 1, "--emulate", "m.tflite", "--board", "nucleo_l4r5zi"), "needs an emulated board"),
    ],
)
def test_invalid_arguments_raise_an_error(
    arenite: Arenite, arguments: tuple[object, ...], message: str
) -> None:
    arenite("duty", *arguments, "--json").refused(2, message)
