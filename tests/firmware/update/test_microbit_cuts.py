"""Power cuts during updates of an emulated micro:bit lose no images, and a lost image is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.firmware.update import microbit_cuts
from tests.firmware.update.image_check import library_or_skip
from tests.firmware.update.loader_board import skip_without_tools

pytestmark = [pytest.mark.slow, pytest.mark.qemu]


def test_cuts_lose_nothing() -> None:
    skip_without_tools()
    library_or_skip("ed25519")
    results = microbit_cuts.run_cuts(150, seed=4)
    assert results["signatures checked by the device"] >= 4
    assert results["new emulators"] == 1
    interrupted = sum(number for what, number in results.items() if what.startswith("interrupted"))
    assert interrupted == 150
    assert results["interrupted flash of the loader"] > 10, results


@pytest.mark.parametrize("slots", [(0, 1), (0,)], ids=["in both slots", "in slot 0, the other set is kept"])
def test_damaged_model_never_runs(tmp_path: Path, slots: tuple[int, ...]) -> None:
    skip_without_tools()
    library_or_skip("ed25519")
    device, story = microbit_cuts.prepare(tmp_path, seed=5)
    try:
        story.check_all_signatures()
        for slot in slots:
            device.write_flash(microbit_cuts.LAYOUT.model[slot], bytes(1024))
        device.power_on(is_cut=False)
        if len(slots) == 2:
            with pytest.raises(microbit_cuts.LostError, match="the boot loader finds no images"):
                device.go()
        else:
            assert device.go() == "ready"
            assert device.report()[:4] == [2, 2, 3, 4]  # the images of the slots 1, on trial, as a repair
    finally:
        device.close()


def test_wrong_model_is_noticed(tmp_path: Path) -> None:
    skip_without_tools()
    library_or_skip("ed25519")
    device, story = microbit_cuts.prepare(tmp_path, seed=6)
    try:
        device.power_on(is_cut=False)
        assert device.go() == "ready"
        device.write_flash(microbit_cuts.LAYOUT.model[0], bytes(200))  # behind the back of the loader
        with pytest.raises(
            microbit_cuts.LostError, match="firmware 1 with model 1 in phase 0, outcome 0: not whole"
        ):
            story._give_order()
    finally:
        device.close()
