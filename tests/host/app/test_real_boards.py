"""Applications for real boards: build files, the files of the user, and what is refused."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.errors import UsageError
from arenite.firmware.app.drivers.choice import driver_of
from arenite.firmware.app.project import supported
from arenite.firmware.sources import APP
from arenite.host.app.generate import generate_app
from arenite.host.flash.build import build
from arenite.host.flash.flash import built_elf
from arenite.profiles.boards import all_boards, load_board
from tests.host.app.motion_models import motion_model
from tests.host.app.sound_models import sound_model

BOARDS = [board.name for board in all_boards() if not board.emulated and supported(board, "microphone")]


@pytest.mark.parametrize("name", BOARDS)
def test_the_folder_has_every_source_that_its_build_files_name(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    application = generate_app(sound_model(tmp_path / "ear.tflite"), load_board(name), folder)
    manifest = json.loads((folder / "arenite.json").read_text())
    assert manifest["project"] == application.project and "build" not in manifest
    own = {path.relative_to(folder).as_posix() for path in folder.glob("lib/**/*.c*")}
    assert any("microphone" in path for path in own)
    if application.project == "platformio" and not (folder / "CMakeLists.txt").exists():
        assert "build_src_flags = -Dmain=arenite_user_main" in (folder / "platformio.ini").read_text()
        return
    named: set[str] = set()
    for path in (*folder.rglob("CMakeLists.txt"),):
        for source in re.findall(r'^    "(.+)"$', path.read_text(), re.MULTILINE):
            named.add((path.parent / source).resolve().relative_to(folder.resolve()).as_posix())
    assert named == own


@pytest.mark.parametrize("name", ["zeroUSB", "nicla_vision", "nrf5340dk"])
def test_a_real_board_learns_without_flash(name: str, tmp_path: Path) -> None:
    """The state is not kept, and a function of the user can take the place of ours. The sources that learn compile."""
    folder = tmp_path / "app"
    prepared = sound_model(tmp_path / "fan.tflite", None, softmax=False, anomaly=AnomalyHead(hop=160))
    application = generate_app(prepared, load_board(name), folder)
    own = sorted(path.name for path in (folder / "lib/app").glob("*.c"))
    assert application.learning is not None and {"flash_none.c", "learning.c"} <= set(own)
    for listing in folder.rglob("CMakeLists.txt"):
        text = listing.read_text()
        assert ("flash_none.c" in text) == ("learning.c" in text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-DAR_HOST", "-fsyntax-only"]
    includes = [f"-I{folder / path}" for path in ("src", "lib/app", "lib/model", "lib/board")]
    sources = [str(folder / "lib/app" / n) for n in ("flash_none.c", "learning.c", "learning_commands.c")]
    subprocess.run(["gcc", *flags, *includes, *sources], check=True)


def test_the_pins_of_the_user_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    prepared, board = sound_model(tmp_path / "ear.tflite"), load_board("pico")
    generate_app(prepared, board, folder)
    pins = folder / "src/app_pins.h"
    assert "#define APP_PDM_CLOCK_PIN 2u" in pins.read_text()
    pins.write_text("/* mine */\n")
    generate_app(prepared, board, folder)
    assert pins.read_text() == "/* mine */\n"


def test_pins_of_another_board_or_chip_are_set_aside(tmp_path: Path) -> None:
    folder, source = tmp_path / "app", tmp_path / "app/src"
    prepared = motion_model(tmp_path / "wrist.tflite")
    generate_app(prepared, load_board("pico"), folder, sensor="imu")
    (source / "main.c").write_text("/* mine */\n")
    (source / "app_pins.h").write_text("/* my pins */\n")
    generate_app(prepared, load_board("esp32dev"), folder, sensor="imu")
    assert (source / "app_pins.pico.h").read_text() == "/* my pins */\n"
    assert "#define IMU_SDA 21\n" in (source / "app_pins.h").read_text()
    (source / "app_pins.h").write_text("/* my other pins */\n")
    generate_app(prepared, load_board("pico"), folder, sensor="imu")
    (source / "app_pins.h").write_text("/* my third pins */\n")
    generate_app(prepared, load_board("pico"), folder, sensor="imu", chip="lsm6dso")
    assert (source / "app_pins.esp32dev.h").read_text() == "/* my other pins */\n"
    assert (source / "app_pins.pico.2.h").read_text() == "/* my third pins */\n"
    assert "#define IMU_ADDRESS 0x6A\n" in (source / "app_pins.h").read_text()
    assert (source / "main.c").read_text() == "/* mine */\n"


def test_a_sensor_without_pins_has_no_file_of_them(tmp_path: Path) -> None:
    drivers = {
        (board.name, sensor): driver
        for board in all_boards()
        if not board.emulated
        for sensor in ("microphone", "imu", "adc", "camera")
        if supported(board, sensor) and (driver := driver_of(board, sensor)) is not None and not driver.pins
    }
    assert len(drivers) > 5
    for driver in drivers.values():
        assert not any("app_pins.h" in APP.read(name) for name in driver.all_sources)
    generate_app(sound_model(tmp_path / "ear.tflite"), load_board("nucleo_f411re"), tmp_path / "app")
    assert [path.name for path in (tmp_path / "app/src").iterdir()] == ["main.c"]
    assert "app_pins.h" not in (tmp_path / "app/README.md").read_text()


@pytest.mark.parametrize(
    ("name", "sensor", "alias"),
    [
        ("nrf5340dk", "microphone", "dmic-dev = &pdm0;"),
        ("nrf54l15dk", "microphone", "dmic-dev = &pdm20;"),
        ("nrf5340dk", "imu", "imu-i2c = &arduino_i2c;"),
        ("nrf54l15dk", "imu", "imu-i2c = &i2c21;"),
    ],
)
def test_the_devicetree_of_zephyr_is_written_once(name: str, sensor: str, alias: str, tmp_path: Path) -> None:
    folder, model = tmp_path / "app", tmp_path / "m.tflite"
    prepared = sound_model(model) if sensor == "microphone" else motion_model(model)
    generate_app(prepared, load_board(name), folder, sensor=sensor)
    overlay = folder / "src/app.overlay"
    text = overlay.read_text()
    assert alias in text and text.count("{") == text.count("}")
    (used,) = re.findall(r"DT_ALIAS\((\w+)\)", "".join(p.read_text() for p in folder.glob("lib/app/*.c")))
    assert used.replace("_", "-") in alias
    assert '"${user_folder}/app.overlay"' in (folder / "zephyr/CMakeLists.txt").read_text()
    overlay.write_text("/* mine */\n")
    generate_app(prepared, load_board(name), folder, sensor=sensor)
    assert overlay.read_text() == "/* mine */\n"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("nucleo_l4r5zi", "SDA PB9 (D14), SCL PB8 (D15)"),
        ("nucleo_l432kc", "SDA PB7 (D4), SCL PB6 (D5)"),
        ("nucleo_wl55jc", "SDA PA11 (D14), SCL PA12 (D15)"),
    ],
)
def test_the_pins_of_a_module_at_a_nucleo_board_are_named(name: str, place: str, tmp_path: Path) -> None:
    generate_app(motion_model(tmp_path / "m.tflite"), load_board(name), tmp_path / "app", sensor="imu")
    for file in ("README.md", "src/app_pins.h"):
        assert f"MPU6050 on a module at {place}" in (tmp_path / "app" / file).read_text()


def test_an_esp32_has_two_build_systems(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    prepared, board = sound_model(tmp_path / "ear.tflite"), load_board("esp32-c3-devkitm-1")
    generate_app(prepared, board, folder)
    assert "framework = espidf" in (folder / "platformio.ini").read_text()
    generate_app(prepared, board, folder, project="esp-idf")
    assert not (folder / "platformio.ini").exists() and (folder / "sdkconfig.defaults").exists()
    with pytest.raises(UsageError, match="the tools of its framework build") as error:
        build(folder)
    assert "set-target esp32c3" in str(error.value.hint)


@pytest.mark.parametrize(
    ("name", "sensor", "place"),
    [
        ("nano33ble", "microphone", "The board's Arduino core sets its pins."),
        ("nucleo_f411re", "microphone", "Its pins are fixed in lib/app/microphone_stm32f411_i2s.c."),
        ("nrf5340dk", "microphone", "Its device and the alias are in src/app.overlay."),
        (
            "nrf5340dk",
            "imu",
            "Its settings are in src/app_pins.h. Its device and the alias are in src/app.overlay.",
        ),
        ("pico", "microphone", "Its pins and settings are in src/app_pins.h."),
    ],
)
def test_the_place_of_the_pins_is_told(name: str, sensor: str, place: str) -> None:
    driver = driver_of(load_board(name), sensor)
    assert driver is not None and driver.settings_place == place
    assert ("src/app_pins.h" in place) == bool(driver.pins)
    if "lib/app/" in place:  # the pins of the message are those of the file
        wired = re.findall(r"P([A-K]\d+)", driver.wiring)
        assert wired and all(f"P{pin}" in APP.read(driver.sources[0]) for pin in wired)


@pytest.mark.parametrize(
    ("name", "project", "command"),
    [
        ("pico", "cmake", "cmake --build {}/build"),
        ("esp32-c3-devkitm-1", "esp-idf", "idf.py -C {} build flash"),
        ("nrf5340dk", "zephyr", "west build -b nrf5340dk/nrf5340/cpuapp {}/zephyr"),
        ("nano33ble", "platformio", "arenite build {}"),
    ],
)
def test_flash_names_the_command_that_builds(name: str, project: str, command: str, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    generate_app(sound_model(tmp_path / "ear.tflite"), load_board(name), folder, project=project)
    with pytest.raises(UsageError, match="is not built") as error:
        built_elf(folder)
    assert command.format(folder) in str(error.value.hint)
    if project != "platformio":
        with pytest.raises(UsageError, match="the tools of its framework build") as refused:
            build(folder)
        assert refused.value.hint == error.value.hint


def test_a_build_system_that_the_board_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a project of kind zephyr") as error:
        generate_app(
            sound_model(tmp_path / "ear.tflite"), load_board("nano33ble"), tmp_path / "app", project="zephyr"
        )
    assert "--project platformio" in str(error.value.hint)
    assert not (tmp_path / "app").exists()


MOTION_BOARDS = [board.name for board in all_boards() if not board.emulated and supported(board, "imu")]


def _sources_exist(folder: Path) -> set[str]:
    """Return the names of the C files in lib/, all of which a CMake file must name if there is one."""
    own = {path.relative_to(folder).as_posix() for path in folder.glob("lib/**/*.c*")}
    for path in folder.rglob("CMakeLists.txt"):
        rows = re.findall(r'^    "(.+)"$', path.read_text(), re.MULTILINE)
        if rows:
            assert {
                (path.parent / row).resolve().relative_to(folder.resolve()).as_posix() for row in rows
            } == own
    return {Path(name).name for name in own}


@pytest.mark.parametrize(
    ("name", "chip", "bus"),
    [
        ("nano33ble", "bmi270", "imu_bus_wire.cpp"),
        ("nano_33_iot", "lsm6ds3", "imu_bus_wire.cpp"),
        ("nanorp2040connect", "lsm6dso", "imu_bus_wire.cpp"),
        ("disco_l475vg_iot01a", "lsm6ds3", "imu_bus_wire.cpp"),
        ("disco_b_u585i_iot02a", "lsm6dso", "imu_bus_wire.cpp"),
        ("nucleo_f411re", "mpu6050", "imu_bus_wire.cpp"),
        ("esp32cam", "mpu6050", "imu_bus_esp_idf.c"),
        ("pico", "mpu6050", "imu_bus_pico.c"),
        ("nrf5340dk", "mpu6050", "imu_bus_zephyr.c"),
    ],
)
def test_the_motion_sensor_of_a_board_is_the_default(name: str, chip: str, bus: str, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    made = generate_app(motion_model(tmp_path / "g.tflite"), load_board(name), folder, sensor="imu")
    assert {f"{chip}.c", bus, "imu_sensor.c"} <= _sources_exist(folder)
    pins = (folder / "src/app_pins.h").read_text()
    assert "IMU_ADDRESS" in pins and "#define IMU_RANGE_G 4\n" in pins
    assert made.to_json()["wiring"].startswith(chip.upper())
    assert bool(made.driver and made.driver.needs_files) == (chip == "bmi270")


def test_another_chip_is_chosen_by_its_name(tmp_path: Path) -> None:
    prepared, folder = motion_model(tmp_path / "g.tflite"), tmp_path / "app"
    generate_app(prepared, load_board("nano33ble"), folder, sensor="imu", chip="lsm6dso")
    assert "lsm6dso.c" in _sources_exist(folder)
    assert "#define IMU_WIRE Wire\n" in (folder / "src/app_pins.h").read_text()
    for board, sensor, text in [
        ("nano33ble", "microphone", "--chip is for motion sensors"),
        ("qemu_mps2_an386", "imu", "--chip is for real boards"),
    ]:
        with pytest.raises(UsageError, match=text):
            generate_app(prepared, load_board(board), tmp_path / "b", sensor=sensor, chip="lsm6dso")
    with pytest.raises(UsageError, match="not a motion sensor with a driver"):
        generate_app(prepared, load_board("pico"), tmp_path / "b", sensor="imu", chip="lsm9ds1")


def test_many_boards_have_motion_sensors() -> None:
    assert len(MOTION_BOARDS) > 60


def test_the_analog_inputs_of_a_pico_have_a_driver(tmp_path: Path) -> None:
    prepared, folder = motion_model(tmp_path / "g.tflite"), tmp_path / "app"
    generate_app(prepared, load_board("pico"), folder, sensor="adc")
    assert {"adc_rp2.c", "app_pico.c"} <= _sources_exist(folder)
    assert "#define ADC_FIRST 0u\n" in (folder / "src/app_pins.h").read_text()
    with pytest.raises(UsageError, match="no driver of an analog-to-digital converter for nucleo_l476rg"):
        generate_app(prepared, load_board("nucleo_l476rg"), tmp_path / "b", sensor="adc")


@pytest.mark.parametrize(
    ("board", "source", "inputs"),
    [
        ("nano33ble", "adc_nrf52.c", "2, 3, 6, 5, 7, 0"),
        ("zeroUSB", "adc_samd21.c", "2u"),
        ("nano_33_iot", "adc_samd21.c", "17u"),
        ("nucleo_f411re", "adc_stm32f4.c", "{'A', 0, 0}, {'A', 1, 1}"),
        ("esp32-c3-devkitm-1", "adc_esp.c", "0, 1, 2, 3, 4"),
    ],
)
def test_the_analog_inputs_of_other_families_have_drivers(
    board: str, source: str, inputs: str, tmp_path: Path
) -> None:
    prepared, folder = motion_model(tmp_path / "g.tflite"), tmp_path / "app"
    generate_app(prepared, load_board(board), folder, sensor="adc")
    assert source in _sources_exist(folder)
    name = "ADC_FIRST" if source == "adc_samd21.c" else "ADC_INPUTS"
    assert f"#define {name} {inputs}" in (folder / "src/app_pins.h").read_text()


@pytest.mark.parametrize(
    ("name", "sensor", "project", "texts"),
    [
        (
            "pico",
            "microphone",
            "cmake",
            (
                "export PICO_SDK_PATH=",
                "cmake --build ./build",
                "BOOTSEL",
                "firmware.uf2",
                "UART0 on GP0 and GP1",
            ),
        ),
        (
            "nrf5340dk",
            "microphone",
            "zephyr",
            (
                "west build -b",
                "are in src/app.overlay.",
                "`src/main.c` and `src/app.overlay`: your",
                "J-Link",
            ),
        ),
        (
            "nrf54l15dk",
            "imu",
            "zephyr",
            ("west flash", "`src/main.c`, `src/app_pins.h` and `src/app.overlay`: your program. They are"),
        ),
        ("nano33ble", "imu", "platformio", ("bmi270.c", "BMI270_SensorAPI", "arenite build .", "USB port")),
        ("esp32dev", "adc", "esp-idf", ("idf.py set-target esp32", "UART0 over the USB bridge")),
        (
            "nucleo_f411re",
            "microphone",
            "platformio",
            ("Its pins are fixed in", "arenite flash .", "ST-LINK", "* `src/main.c`: your program. It is"),
        ),
    ],
)
def test_the_readme_leads_to_a_running_board(
    name: str, sensor: str, project: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    folder, model = tmp_path / "app", tmp_path / "m.tflite"
    prepared = sound_model(model) if sensor == "microphone" else motion_model(model)
    generate_app(prepared, load_board(name), folder, sensor=sensor, project=project)
    text = (folder / "README.md").read_text()
    for part in (*texts, "has run on hardware", "arenite live PORT --baud 115200", "m.tflite"):
        assert part in text, part


def test_an_application_of_an_esp32_has_no_watchdog_that_nobody_feeds(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    generate_app(sound_model(tmp_path / "ear.tflite"), load_board("esp32dev"), folder)
    text = (folder / "sdkconfig.defaults").read_text()
    feeds = [path for path in folder.glob("lib/**/*.c") if "esp_task_wdt" in path.read_text()]
    assert not feeds and "CONFIG_ESP_TASK_WDT_EN=n" in text
    assert "WDT_PANIC" not in text and "serves the host" not in text
