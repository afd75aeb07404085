"""Firmware and model of an ESP32 survive power cuts, on a model of ESP-IDF's partitions and boot loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.firmware.update.esp32.power_cuts import STORIES, build, run


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("esp"))


@pytest.mark.parametrize("story", STORIES)
def test_no_power_cut_leaves_images_that_do_not_belong_together(program: Path, story: str) -> None:
    result = run(program, story, second=4)
    assert result["failure"] is None
    assert result["first"] == result["operations"] > 30 and result["second"] > 150


#: Mistakes in esp_boot.c, and a story that finds each.
MISTAKES = {
    "a trial does not end": (
        "return has_firmware ? 2 * AR_SLOTS_TRIALS : AR_SLOTS_TRIALS;",
        "return 255;",
        "hangs",
    ),
    "ESP-IDF is not told that a firmware is good": ("(void)esp_boot_confirm();", "", "rejects"),
    "a firmware that ESP-IDF refuses is not rejected": (
        "if (choice != AR_BOOT_RUN_TRIAL || reject(boot) != 0)",
        "if (1)",
        "foreign",
    ),
    "the other firmware is not started": ("if (wanted == running) {", "if (1) {", "confirms"),
    "a destroyed otadata is not written again": (
        "return esp_ota_set_boot_partition(running) != ESP_OK ||",
        "return 1 ||",
        "rejects",
    ),
    "an update is written over the firmware that runs": (
        "field_write(boot, FIELD_ACTIVE, 1, field_read(boot, FIELD_ACTIVE, 1) ^ 1u << AR_SLOTS_FIRMWARE);",
        "",
        "gone",
    ),
    "restarts are not counted": ("count < MAX_RESTARTS;", "1;", "stuck"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_finds_mistakes(mistake: str, tmp_path: Path) -> None:
    old, new, story = MISTAKES[mistake]
    assert run(build(tmp_path, {"esp_boot.c": (old, new)}), story)["failure"] is not None
