"""Cut the power of an emulated micro:bit during updates, and check which images it runs afterwards.

``python -m tests.firmware.update.microbit_cuts 10000`` prints the number of cuts and what they hit. A second number is
the seed. The boot loader is the one that ``build_loader`` builds, and QEMU emulates the nRF51's flash controller.
TIMER1 stops the device at a random instruction: in seven of ten cases soon after a random erasure, otherwise anywhere
in the loader or in the firmware. Then the RAM is filled with noise and the machine is reset; each hundredth time, QEMU
is killed and a new one gets the content of the flash memory.

Whenever a firmware runs, the images in both slots 0 must be whole and belong together. They must be the confirmed ones,
or those that are on trial. A boot loader that finds no images has lost them.

QEMU runs each check of a signature for the first time. When the same signature of the same hash is checked again, the
debugger returns the same result, because a check takes QEMU longer than all the rest.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from arenite.firmware.update.layout import Area, update_layout
from arenite.firmware.update.loader import build_loader
from arenite.profiles.boards import load_board
from tests.firmware.state_store.power_cuts import Device
from tests.firmware.update.image_check import public_key
from tests.firmware.update.loader_board import Images, build_program, sign_images

BOARD = load_board("qemu_microbit")
LAYOUT = update_layout(BOARD)
PROGRAM = Path(__file__).with_name("microbit_program.c")
_RESET, _UPDATE, _CONFIRM, _REJECT = range(4)
_STEADY, _REQUESTED, _TRIAL = 0, 1, 3
_MODEL_AT, _RAM, _RAM_BYTES = 6144, 0x20000000, 8192
_NEW_EMULATOR_EVERY = 100
#: The longest time until a cut, in ticks of about one instruction. A check of a signature takes no time.
_MAX_TICKS = 6_000_000
#: The erasures of an update, and the time of a step of a swap.
_MAX_ERASURES, _STEP_TICKS = 45, 120_000
_TIMER1, _TIMER1_INTERRUPT, _NVIC_ENABLE = 0x40009000, 9, 0xE000E100
#: Code that stores r3 pairs of an address and a value, which are at r0: ldmia r0!, {r1, r2}; str r2, [r1];
#: subs r3, #1; bne back; nop.
_STORE_CODE = bytes.fromhex("06c8 0a60 013b fbd1 00bf 0000")
_STORE_AT = 0x20003E00  # neither loader nor firmware uses this RAM
#: The function of Monocypher that decides whether a signature is right. It returns 0 if it is.
_CHECK = "crypto_eddsa_check_equation"
#: The functions that erase and program, in loader and firmware.
_FLASH_FUNCTIONS = ("erase", "program", "copy_pages", "swap_step", "write_slot", "ar_store", "verify", "save")
#: Bytes of a packet of GDB's protocol.
_PART = 1920


class LostError(Exception):
    """The device runs no images, or wrong ones."""


def _symbols(elf: Path) -> dict[str, int]:
    table = subprocess.run(["arm-none-eabi-nm", str(elf)], check=True, capture_output=True, text=True).stdout
    return {name: int(at, 16) & ~1 for at, name in re.findall(r"^(\w+) [tTbBdD] (\w+)$", table, re.MULTILINE)}


class Microbit:
    """An emulated micro:bit whose power can be cut."""

    def __init__(
        self, loader: Path, program: dict[str, int], folder: Path, choose: random.Random, flash: bytes
    ) -> None:
        self._elf, self._folder, self._random = loader, folder, choose
        self.program, self._loader = program, _symbols(loader)
        self._verdicts: dict[bytes, int] = {}
        self.results: Counter[str] = Counter()
        self._cuts = 0
        self._erasures = 0  # until the timer is started
        self._erase_at = (self._loader["erase_1024"], self.program["erase_1024"])
        self._device = self._start(flash)

    def _start(self, flash: bytes) -> Device:
        (self._folder / "gdb").unlink(missing_ok=True)
        device = Device(self._elf, self._folder)
        for at in range(0, len(flash), 1024):
            part = flash[at : at + 1024]
            if part.strip(b"\xff"):
                device.write(LAYOUT.state.origin + at, part)
        # QEMU is slow on 1 KB of code around a breakpoint. These functions are not near the hash.
        stops = [self._loader[name] for name in ("say", _CHECK, "pass_on")]
        stops += [self.program["ready"], self.program["done"], _STORE_AT + 8]
        for at in stops:
            assert device.send(f"Z0,{at:x},2") == "OK"
        return device

    def close(self) -> None:
        self._device.close()

    def read(self, area: Area, count: int | None = None) -> bytes:
        size = area.size if count is None else count
        parts = [self._device.read(area.origin + at, min(_PART, size - at)) for at in range(0, size, _PART)]
        return b"".join(parts)

    def _write(self, at: int, data: bytes) -> None:
        for k in range(0, len(data), _PART):
            self._device.write(at + k, data[k : k + _PART])

    def write(self, name: str, data: bytes) -> None:
        """Write to a variable of the firmware."""
        self._write(self.program[name], data)

    def write_flash(self, area: Area, data: bytes) -> None:
        self._write(area.origin, data)

    def report(self) -> list[int]:
        words = self._device.read(self.program["report"], 24)
        return [int.from_bytes(words[k : k + 4], "little") for k in range(0, 24, 4)]

    def power_on(self, is_cut: bool = True) -> None:
        """Turn the power on, after a cut if it was on. If ``is_cut``, choose when it is cut the next time."""
        self._cuts += 1
        if self._cuts % _NEW_EMULATOR_EVERY == 0:
            flash = self.read(Area(LAYOUT.state.origin, LAYOUT.scratch.end - LAYOUT.state.origin))
            self._device.close()
            self._device = self._start(flash)
            self.results["new emulators"] += 1
        else:
            assert self._device.send("qRcmd," + b"system_reset".hex()) == "OK"
        self._write(_RAM, self._random.randbytes(_RAM_BYTES))
        if is_cut:
            self._plan_cut()

    def reset(self) -> None:
        """Reset the machine, as the firmware asks for, and choose when its power is cut: the reset stops the timer."""
        assert self._device.send("qRcmd," + b"system_reset".hex()) == "OK"
        self._plan_cut()

    def _plan_cut(self) -> None:
        """Choose when the power is cut: soon after an erasure, or at any time."""
        self._stop_at_erasures(False)
        share = self._random.random()
        if self._random.random() < 0.7:
            self._erasures = round(_MAX_ERASURES**share)
            self._stop_at_erasures(True)
        else:
            # Half of the numbers are as likely as their logarithm, so that short and long times are both common.
            self._start_timer(round(_MAX_TICKS**share if self._random.random() < 0.5 else _MAX_TICKS * share))

    def _stop_at_erasures(self, is_on: bool) -> None:
        for at in self._erase_at:
            self._device.send(f"{'Z' if is_on else 'z'}0,{at:x},2")

    def _start_timer(self, ticks: int) -> None:
        """Let the processor start the timer: the debugger cannot write to devices."""
        stores = [(_TIMER1 + 0x508, 3), (_TIMER1 + 0x510, 0), (_TIMER1 + 0x540, ticks + 32)]
        stores += [(_TIMER1 + 0x304, 1 << 16), (_TIMER1, 1), (_NVIC_ENABLE, 1 << _TIMER1_INTERRUPT)]
        table = b"".join(word.to_bytes(4, "little") for pair in stores for word in pair)
        self._device.write(_STORE_AT, _STORE_CODE + table)
        saved = [(number, self._register(number)) for number in (0, 1, 2, 3, 15)]
        for number, value in ((0, _STORE_AT + len(_STORE_CODE)), (3, len(stores)), (15, _STORE_AT)):
            self._set_register(number, value)
        assert self._device.run() == _STORE_AT + 8
        for number, value in saved:
            self._set_register(number, value)

    def go(self) -> str:
        """Run until the firmware is ready or done, or until the power is cut. Return ``ready``, ``done`` or ``cut``."""
        while True:
            at = self._device.run()
            if at == self._loader[_CHECK]:
                if not self._check_signature():
                    return "cut"
            elif at in self._erase_at:
                self._erasures -= 1
                if self._erasures == 0:
                    self._stop_at_erasures(False)
                    self._start_timer(round(_STEP_TICKS ** self._random.random()))
                else:
                    self._device.send("s")
            elif at == self._loader["pass_on"]:
                self._count_cut()
                return "cut"
            elif at == self._loader["say"]:  # it speaks only if it cannot run anything
                raise LostError("the boot loader finds no images")
            else:
                self._device.skip_nop(at)
                return "ready" if at == self.program["ready"] else "done"

    def _count_cut(self) -> None:
        """Count what the interrupt of the timer has interrupted."""
        at = int.from_bytes(self._device.read(self._register(13) + 24, 4), "little")
        who, table = ("loader", self._loader) if at < LAYOUT.state.origin else ("firmware", self.program)
        code = {address: name for name, address in table.items() if address <= at}
        function = code[max(code)] if code else ""
        what = "flash" if function.startswith(_FLASH_FUNCTIONS) else "other code"
        self.results[f"interrupted {what} of the {who}"] += 1

    def _register(self, number: int) -> int:
        return int.from_bytes(bytes.fromhex(self._device.send(f"p{number:x}")), "little")

    def _set_register(self, number: int, value: int) -> None:
        assert self._device.send(f"P{number:x}={value.to_bytes(4, 'little').hex()}") == "OK"

    def _check_signature(self) -> bool:
        """Let the core check a signature, or return the result of the same check from memory. Return False if the power
        was cut during the check."""
        registers = self._device.send("g")
        signature, key, challenge, back = (
            int.from_bytes(bytes.fromhex(registers[8 * k : 8 * k + 8]), "little") for k in (0, 1, 2, 14)
        )
        read, back = self._device.read, back & ~1
        content = read(signature, 64) + read(key, 32) + read(challenge, 32)
        if content not in self._verdicts:
            check = self._loader[_CHECK]
            for packet in (f"z0,{check:x},2", f"Z0,{back:x},2"):
                assert self._device.send(packet) == "OK"
            at = self._device.run()
            for packet in (f"Z0,{check:x},2", f"z0,{back:x},2"):
                assert self._device.send(packet) == "OK"
            if at != back:
                self._count_cut()
                return False
            self._verdicts[content] = self._register(0)
            self.results["signatures checked by the device"] += 1
        self._set_register(0, self._verdicts[content])
        self._set_register(15, back)
        return True


class Story:
    """Updates from the one set of images to the other and back, one after the other."""

    def __init__(self, device: Microbit, sets: dict[int, Images], choose: random.Random) -> None:
        self._device, self._sets, self._random = device, sets, choose
        self._confirmed, self._candidate = 1, 0  # the numbers of sets; 0: there is no candidate
        self._plan = _CONFIRM
        self._doing = "power-on"

    def power_cycle(self) -> None:
        """Run from a power-on to the next cut."""
        device = self._device
        while True:
            reached = device.go()
            if reached == "ready":
                self._doing = self._give_order()
            elif reached == "done":
                assert device.report()[5] == 1, f"{self._doing}: the firmware could not save"
                self._finish()
                self._doing = "boot after " + self._doing
                device.reset()
            else:
                device.results["cut: " + self._doing] += 1
                self._doing = "boot after a cut"
                return

    def check_all_signatures(self) -> None:
        """Install the new images and the old ones once, without a cut."""
        self._device.power_on(is_cut=False)
        while self._device.results["confirmed updates"] < 2:
            if self._device.go() == "ready":
                self._plan = _CONFIRM
                self._doing = self._give_order()
                self._plan = _CONFIRM
            else:
                self._finish()
        self._doing = "boot"

    def _give_order(self) -> str:
        """Check the images that run, and tell the firmware what to do."""
        device = self._device
        number, model, phase, outcome, _, start = device.report()
        running = f"firmware {number} with model {model} in phase {phase}, outcome {outcome}"
        if start != 0 or number != model or number not in self._sets:
            raise LostError(f"{running}: they do not belong together")
        images = self._sets[number]
        for area, image in ((LAYOUT.firmware[0], images.firmware), (LAYOUT.model[0], images.model)):
            if device.read(area, len(image)) != image:
                raise LostError(f"{running}: not whole")
        if number not in (self._confirmed, self._candidate):
            raise LostError(f"{running}: never asked for")
        if phase == _TRIAL:
            if number == self._confirmed:
                raise LostError(f"{running}: confirmed images are on trial")
            order = self._plan
        else:
            if number == self._candidate:  # a confirmation was cut after it had taken effect
                if self._plan != _CONFIRM:
                    raise LostError(f"{running}: nothing confirmed them")
                self._confirmed = number
            self._candidate, order = 0, _UPDATE
        device.results[("trial", "update")[order == _UPDATE]] += 1
        bytes_of = (0, 0)
        if order == _UPDATE:
            self._candidate = 3 - number
            self._plan = self._random.choices((_CONFIRM, _REJECT, _RESET), (3, 1, 1))[0]
            new = self._sets[self._candidate]
            bytes_of = (len(new.firmware), len(new.model))
            padded = [image + b"\xff" * (-len(image) % 64) for image in (new.firmware, new.model)]
            device.write("images", padded[0].ljust(_MODEL_AT, b"\xff") + padded[1])
        words = (order, *bytes_of)
        device.write("orders", b"".join(word.to_bytes(4, "little") for word in words))
        return ("trial without confirmation", "upload", "confirmation", "rejection")[order]

    def _finish(self) -> None:
        if self._doing == "confirmation":
            self._confirmed, self._candidate = self._candidate, 0
            self._device.results["confirmed updates"] += 1


def prepare(folder: Path, seed: int) -> tuple[Microbit, Story]:
    """Build loader, firmwares and images, and return a new device. Close it at the end."""
    choose = random.Random(seed)
    loader = build_loader(BOARD, public_key(), folder / "loader").elf
    payloads = {k: build_program(BOARD, folder, k, source=PROGRAM) for k in (1, 2)}
    program = _symbols(folder / "program1.elf")
    assert program == _symbols(folder / "program2.elf"), "both firmwares must have the same addresses"
    sets = {k: sign_images(BOARD, payload, k, model_bytes=1100) for k, payload in payloads.items()}
    flash = bytearray(b"\xff" * (LAYOUT.scratch.end - LAYOUT.state.origin))
    for area, image in ((LAYOUT.firmware[0], sets[1].firmware), (LAYOUT.model[0], sets[1].model)):
        at = area.origin - LAYOUT.state.origin
        flash[at : at + len(image)] = image
    device = Microbit(loader, program, folder, choose, bytes(flash))
    return device, Story(device, sets, choose)


def run_cuts(count: int, seed: int, report_every: int = 0) -> Counter[str]:
    """Cut the power ``count`` times. Return how often each kind of operation was cut. Raises ``LostError`` if the
    device runs no images, or wrong ones."""
    with tempfile.TemporaryDirectory() as name:
        device, story = prepare(Path(name), seed)
        try:
            story.check_all_signatures()
            for k in range(count):
                device.power_on()
                try:
                    story.power_cycle()
                except (LostError, AssertionError) as error:
                    raise LostError(f"after {k} cuts with seed {seed}: {error}") from error
                if report_every and (k + 1) % report_every == 0:
                    print(f"{k + 1} cuts, 0 lost", flush=True)
        finally:
            device.close()
    return device.results


if __name__ == "__main__":
    start = time.monotonic()
    cuts, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for what, number in sorted(run_cuts(cuts, seed, 100).items()):
        print(f"{what}: {number}")
    print(f"{cuts} cuts, 0 lost, {time.monotonic() - start:.0f} s")
