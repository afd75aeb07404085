"""Where the headers of the chips' vendors and of C libraries are; a folder that does not exist if nothing says so. And
how the Arduino core with Mbed OS and ESP-IDF are compiled."""

from __future__ import annotations

import os
from pathlib import Path

HEADERS = Path(os.environ.get("ARENITE_DRIVER_HEADERS", "/nonexistent"))
NEWLIB = Path(os.environ.get("ARENITE_NEWLIB", "/nonexistent"))
PICOLIBC = Path(os.environ.get("ARENITE_PICOLIBC", "/nonexistent"))


def mbed_core(folder: Path, variant: str, library: str) -> tuple[list[str], list[Path]]:
    """Return compiler options and folders of headers for ``library`` of ArduinoCore-mbed. ``variant`` is the folder of
    the board. ``folder`` gets a link to the checkout of ArduinoCore-API.

    The checkouts of both repositories, and newlib, must be there.
    """
    core = HEADERS / "ArduinoCore-mbed"
    board = core / "variants" / variant
    (folder / "core").mkdir()
    (folder / "core/api").symlink_to(HEADERS / "ArduinoCore-API/api")  # as the core's own checkout has it
    lines = (board / "includes.txt").read_text().split()
    mbed = [Path(line.replace("-iwithprefixbefore/", f"{core}/cores/arduino/", 1)) for line in lines]
    (cxx,) = (NEWLIB / "c++").iterdir()
    flags = ["-std=gnu++14", "-mthumb", "-DARDUINO=10819", "-DARDUINO_ARCH_MBED", f"@{board / 'defines.txt'}"]
    flags += ["-include", str(board / "mbed_config.h"), "-fno-exceptions", "-fno-rtti"]
    headers = [folder / "core", folder / "core/api/deprecated", folder / "core/api/deprecated-avr-comp"]
    headers += [core / "cores/arduino", board, core / "libraries" / library, *mbed]
    return flags, [*headers, cxx, cxx / "arm-none-eabi", NEWLIB]


def esp_idf(folder: Path, chip: str) -> tuple[list[str], list[Path]]:
    """Return compiler options and folders of headers for ESP-IDF on a RISC-V chip. ``folder`` gets its settings. The
    checkout of ESP-IDF and picolibc must be there."""
    components = HEADERS / "esp-idf/components"
    (folder / "sdkconfig.h").write_text(
        f"#define CONFIG_IDF_TARGET_{chip.upper()} 1\n"
        "#define CONFIG_IDF_TARGET_ARCH_RISCV 1\n#define CONFIG_ESP_SYSTEM_SINGLE_CORE_MODE 1\n"
        "#define CONFIG_FREERTOS_UNICORE 1\n#define CONFIG_FREERTOS_NUMBER_OF_CORES 1\n"
        "#define CONFIG_FREERTOS_HZ 1000\n#define CONFIG_FREERTOS_MAX_TASK_NAME_LEN 16\n"
        "#define CONFIG_FREERTOS_IDLE_TASK_STACKSIZE 1536\n#define CONFIG_FREERTOS_ISR_STACKSIZE 1536\n"
        "#define CONFIG_FREERTOS_THREAD_LOCAL_STORAGE_POINTERS 1\n#define CONFIG_LOG_MAXIMUM_LEVEL 3\n"
        "#define CONFIG_FREERTOS_TASK_NOTIFICATION_ARRAY_ENTRIES 1\n#define CONFIG_FREERTOS_QUEUE_REGISTRY_SIZE 0\n"
        "#define CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ 160\n#define CONFIG_LOG_VERSION 1\n"
        "#define CONFIG_LOG_DEFAULT_LEVEL 0\n"
        "#define CONFIG_FREERTOS_TIMER_TASK_STACK_DEPTH 2048\n#define CONFIG_FREERTOS_TIMER_QUEUE_LENGTH 10\n"
        "#define CONFIG_FREERTOS_TIMER_TASK_PRIORITY 1\n"
    )
    parts: tuple[str, ...] = (
        "include",
        f"{chip}/include",
        f"{chip}/register",
        f"include/{chip}",
        "platform_include",
        "config/include",
    )
    parts += ("config/include/freertos", "config/riscv/include", "esp_additions/include", f"{chip}")
    parts += ("FreeRTOS-Kernel/include", "FreeRTOS-Kernel/portable/riscv/include")
    parts += ("FreeRTOS-Kernel/portable/riscv/include/freertos", "platform_port/include")
    used = [*components.glob("esp_driver_*"), *components.glob("esp_hal_*")]
    used += [
        components / name for name in ("esp_common", "esp_hw_support", "esp_rom", "esp_system", "esp_timer")
    ]
    used += [components / name for name in ("hal", "soc", "log", "heap", "esp_libc", "freertos", "riscv")]
    used += [components / name for name in ("app_update", "esp_partition", "bootloader_support", "spi_flash")]
    used += [components / name for name in ("esp_app_format", "esp_blockdev", "esp_bootloader_format")]
    headers = [path for component in used for part in parts if (path := component / part).is_dir()]
    flags = [
        "-std=gnu17",
        "-march=rv32imac_zicsr_zifencei",
        "-mabi=ilp32",
        "-DESP_PLATFORM",
        "-DARENITE_BAUD=115200",
    ]
    return flags, [folder, *headers, PICOLIBC]
