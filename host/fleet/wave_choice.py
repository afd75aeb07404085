"""Choose the devices of a wave: the same ones for the same rollout, and from each kind of board."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping


def wave_size(devices: int, share_thousandths: int) -> int:
    """Return how many of ``devices`` the waves up to this share may touch: the share, rounded down, but at least one
    device."""
    return min(max(devices * share_thousandths // 1000, 1), devices)


def choose(
    candidates: Iterable[tuple[str, str]], chosen: Mapping[str, int], size: int, seed: str
) -> list[str]:
    """Return ``size`` devices of ``candidates``, which are pairs of (device, board), or all of them if they are
    fewer.

    ``chosen`` has the number of devices of each board that earlier waves chose. First each board without a device
    gets one, those with the most candidates first; then each board gets its share. Within a board, a hash of ``seed``
    and the device decides.
    """
    boards: defaultdict[str, list[str]] = defaultdict(list)
    for device, board in candidates:
        boards[board].append(device)
    for devices in boards.values():
        devices.sort(key=lambda device: hashlib.sha256(f"{seed}/{device}".encode()).digest())
    order = sorted(boards, key=lambda board: (-len(boards[board]), board))
    total = sum(map(len, boards.values()))
    size = min(size, total)
    quotas = dict.fromkeys(order, 0)
    for board in order:
        if sum(quotas.values()) < size and not chosen.get(board):
            quotas[board] = 1
    # The board that is furthest below its share gets the next place.
    everywhere = {board: len(boards[board]) + chosen.get(board, 0) for board in order}
    while sum(quotas.values()) < size:
        board = min(
            (board for board in order if quotas[board] < len(boards[board])),
            key=lambda board: ((quotas[board] + chosen.get(board, 0) + 1) / everywhere[board], board),
        )
        quotas[board] += 1
    return sorted(device for board in order for device in boards[board][: quotas[board]])
