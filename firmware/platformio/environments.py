"""Write the ``[env:…]`` sections of platformio.ini, one for each real board and framework."""

from __future__ import annotations

from arenite.firmware.boards.cores import optimise_flags
from arenite.profiles.board import Board, Espressif, MemoryRegion, PlatformIO

_ARDUINO = """
[env:{name}]
platform = {io.platform}
board = {io.board}
framework = arduino
lib_ignore = board
{options}build_unflags = {unflags}
build_flags =
    {optimise} -fno-strict-overflow
    -Isrc -Ilib/arenite -Ilib/agent
    -DAR_PROFILE -DARENITE_BOARD='"{name}"' -DARENITE_BAUD={baud} -DARENITE_STACK={stack}{flags}
monitor_speed = {baud}
"""

#: Optimization levels that Arduino cores set. Levels that do not suit the goal are removed: most cores set -Os.
ARDUINO_LEVELS = ("-Os", "-Og", "-O1", "-O2", "-O3", "-Ofast")

#: For ESP-IDF and Zephyr, CMake files name every source, its include folders and its flags. So PlatformIO must not
#: search lib/ for libraries.
_CMAKE = """
[env:{env}]
platform = {io.platform}
board = {io.board}
framework = {framework}
lib_ldf_mode = off
{options}monitor_speed = {baud}
"""

#: The flag that the ESP32's compiler needs for a board with PSRAM (ESP-IDF, CONFIG_SPIRAM_CACHE_WORKAROUND).
_CACHE_FIX = "-mfix-esp32-psram-cache-issue"


#: A section that the compiler creates without contents, like .bss. No framework's linker script names it, so a linker
#: option can place it.
_ORPHAN_SECTION = ".persistent.bss"


def own_environments(board: Board, stack_bytes: int, optimise: str, second: MemoryRegion | None) -> str:
    """Return the environments that build the project of ``board``. The first one, which has the board's name, is the
    best choice.

    ``optimise`` is the goal. ``second`` is the memory that holds a part of the arena as a static variable. The Arduino
    core of an ESP32 comes precompiled and allows no static variables in PSRAM. With ``second`` only ESP-IDF builds the
    project of an ESP32.
    """
    io = board.platformio
    assert io is not None
    esp = board.espressif
    if io.framework != "arduino" or (second is not None and esp is not None):
        framework = "espidf" if esp is not None else io.framework
        return _cmake_environment(board, io, board.name, framework)
    text = arduino_environment(board, stack_bytes, optimise, own=True, second=second)
    return text + _cmake_environment(board, io, f"{board.name}-espidf", "espidf") if esp is not None else text


def arduino_environment(
    board: Board,
    stack_bytes: int,
    optimise: str,
    *,
    own: bool = False,
    second: MemoryRegion | None = None,
) -> str:
    """Return the environment of a board with an Arduino core.

    ``optimise`` is the goal. The compiler uses its optimization level, with which kernels were measured, and not the
    level of the Arduino core. ``own`` is True when the project was generated for this board, and so has its partition
    table. ``second`` is the memory for a part of the arena.
    """
    assert board.platformio is not None
    esp = board.espressif
    options = _espressif_options(board, esp) if own and esp is not None else ""
    flags = ""
    if esp is not None and esp.psram != "none":
        flags = "\n    -DBOARD_HAS_PSRAM" + (f" {_CACHE_FIX}" if esp.chip == "esp32" else "")
        if esp.psram == "octal":
            options += f"board_build.arduino.memory_type = {esp.flash_mode}_opi\n"
    if second is not None:
        flags += f"\n    {_placement_flags(second)}"
    levels = optimise_flags(optimise)
    return _ARDUINO.format(
        unflags=" ".join(level for level in ARDUINO_LEVELS if level not in levels),
        optimise=" ".join(levels),
        name=board.name,
        io=board.platformio,
        options=options,
        flags=flags,
        baud=board.uart.baud,
        stack=stack_bytes,
    )


def _placement_flags(region: MemoryRegion) -> str:
    """Return the compiler flags that place the slow part of the arena in ``region``: in the region's section, or at the
    region's address if its profile names no section."""
    if region.section:
        return f"-DAR_SLOW_SECTION={region.section}"
    return f"-DAR_SLOW_SECTION={_ORPHAN_SECTION} -Wl,--section-start={_ORPHAN_SECTION}={region.origin:#010x}"


def _cmake_environment(board: Board, io: PlatformIO, env: str, framework: str) -> str:
    """Return the environment ``env``, which builds with the CMake files of ``framework`` (``espidf`` or ``zephyr``)."""
    esp = board.espressif
    options = _espressif_options(board, esp) if esp is not None else ""
    return _CMAKE.format(env=env, io=io, framework=framework, options=options, baud=board.uart.baud)


def _espressif_options(board: Board, esp: Espressif) -> str:
    """Return the options for the partition table and the flash chip of a board with an ESP32."""
    return (
        "board_build.partitions = partitions.csv\n"
        f"board_build.flash_mode = {esp.flash_mode}\n"
        f"board_upload.flash_size = {esp.flash_size >> 20}MB\n"
        f"board_upload.maximum_size = {board.flash_bytes}\n"
    )
