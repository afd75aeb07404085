"""Send a model to a device over a line that damages bytes and is pulled, and compare the time with the ideal one.

``python -m tests.firmware.update.damaged_line`` prints a table. The device is its real C code with a model of its flash
memory (update_board.c), and the host is the code of `arenite update push`. Time is virtual: that of the bytes on a line
with 115,200 baud in both directions at once, of the erasure and programming of flash memory, and of waiting for answers
that do not come. The time of computation is not in it, and neither is the time for which a cable is out, unless the
line says otherwise. The ideal time is that of the bytes of the image alone. While a page is erased, the device loses
what arrives.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from arenite.host.update.device_info import read_device
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.upload import Upload
from tests.firmware.update.update_board import (
    BAUD,
    INSTANT,
    NRF51,
    NRF52,
    RP2040,
    STM32L4,
    BadLine,
    Board,
    BoardLine,
    Memory,
    make_model,
)

#: About the size of the weights of kws01 with golden data.
MODEL_BYTES = 50_000
SEEDS = range(5)


@dataclass(frozen=True)
class Line:
    """A share of damaged bytes, in bursts of this many, and a number of pulls."""

    share: float
    burst: int = 1
    pulls: int = 3
    silence_s: float = 0.0  # the port does not fail, but bytes are lost for so long: this time counts

    def __str__(self) -> str:
        silence = f" of {self.silence_s} s without an error" if self.silence_s else ""
        return f"{self.share:.1%} in bursts of {self.burst}, {self.pulls} pulls{silence}"


@dataclass(frozen=True)
class Result:
    seconds: float
    ideal_s: float
    sent_bytes: int
    losses: int
    repaired: int
    is_right: bool

    @property
    def ratio(self) -> float:
        return self.seconds / self.ideal_s


def measure(
    memory: Memory, line: Line, seed: int, use_code: bool | None = None, bytes_: int = MODEL_BYTES
) -> Result:
    """Return what the update of a model took, from the first request to the answer that it is right."""
    image = make_model("2.0.0", payload_bytes=bytes_)
    slot_pages = -(-len(image) // memory.page_bytes) + 2
    board = Board(memory, firmware_pages=16384 // memory.page_bytes, model_pages=slot_pages)
    times = random.Random(seed)
    share = bytes_ / MODEL_BYTES
    pulls_s = [share * (1.5 + (k + times.random()) * 3.0 / line.pulls) for k in range(line.pulls)]
    port = BoardLine(board, pulls_s, line.silence_s)
    port.to_device = BadLine(seed, line.share, line.burst)
    port.from_device = BadLine(seed + 1000, line.share, line.burst)
    link = DeviceLink(port.open, use_code, clock=port.clock, wait=lambda seconds: None)
    begin = port.clock()
    read_device(link)
    report = Upload(link, image, 1).run()
    seconds = port.clock() - begin
    assert port.pulled == line.pulls
    result = Result(
        seconds,
        len(image) * 10 / BAUD,
        port.sent_bytes,
        report.losses,
        link.repaired,
        board.slot(1, 1)[: len(image)] == image,
    )
    board.close()
    return result


def main() -> None:
    memories = (INSTANT, STM32L4, RP2040, NRF52, NRF51)
    lines = (
        Line(0.0, pulls=0),
        Line(0.01),
        Line(0.01, silence_s=0.2),
        Line(0.01, 4),
        Line(0.01, 8),
        Line(0.02),
    )
    for line in lines:
        for memory in memories:
            results = [measure(memory, line, seed) for seed in SEEDS]
            assert all(result.is_right for result in results)
            ratios = sorted(result.ratio for result in results)
            print(
                f"{line!s:60} {memory.name:16} time / ideal time {ratios[len(ratios) // 2]:.2f}"
                f" (at most {ratios[-1]:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
