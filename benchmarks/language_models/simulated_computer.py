"""A computer in virtual time that runs a language model: the simulated device of the camera's governor, with its power,
heat and sensor files, gets the load of tokens and pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arenite.host.energy.simulated_device import STEP_S, FrameWork, SimulatedDevice
from arenite.host.governor.interface import Limits
from arenite.host.llm.budget.instruments import open_instruments
from arenite.host.llm.budget.options import BudgetOptions
from arenite.host.llm.budget.pieces import NextTokens, Piece, PieceSizes, TokenRuntime
from arenite.host.llm.budget.token_budget import TokenBudget
from arenite.profiles.hosts import load_host


class SimulatedComputer:
    """A computer of the profile ``host``, all cores of which compute a decoded token in ``token_s`` seconds. Its files
    are under ``root``."""

    def __init__(self, host: str, token_s: float, root: Path, ambient_c: float = 25.0) -> None:
        profile = load_host(host)
        self._host, self.cores = host, profile.cores
        work = FrameWork(0.0, core_s=token_s * self.cores, threads=self.cores, jitter=0.0)
        self.device = SimulatedDevice(profile, work, root, ambient_c)
        self.root, self.now_s, self.computed_s = root, 0.0, 0.0
        self.watts: list[float] = []  # the true power of each step
        self.celsius: list[float] = []
        self._busy_s = self._rest_s = 0.0  # in the present step of the device

    def clock(self) -> float:
        return self.now_s

    def compute(self, tokens: float) -> float:
        """Compute ``tokens`` decoded tokens, and return the seconds that it took."""
        seconds = tokens * self.device.frame_s()
        self.computed_s += seconds
        self._spend(seconds, is_busy=True)
        return seconds

    def sleep(self, seconds: float) -> None:
        self._spend(seconds, is_busy=False)

    def budget(self, limits: Limits, *, sets_frequency: bool = False) -> TokenBudget:
        """Return a budget that reads this computer's sensors. Its full rate is measured, as the commands do."""
        options = BudgetOptions(limits, host=self._host, sets_frequency=sets_frequency, root=self.root)
        instruments = open_instruments(options, self.clock)
        token_s = self.compute(6) / 6
        return TokenBudget(limits, instruments, token_s, self.cores, self.clock, self.sleep)

    def _spend(self, seconds: float, *, is_busy: bool) -> None:
        while seconds > 1e-9:
            part = min(seconds, STEP_S - self._busy_s - self._rest_s)
            self._busy_s += part if is_busy else 0.0
            self._rest_s += 0.0 if is_busy else part
            self.now_s += part
            seconds -= part
            if self._busy_s + self._rest_s >= STEP_S - 1e-9:
                self.device.load = replace(
                    self.device.load, fps=self._busy_s / STEP_S / self.device.frame_s()
                )
                self.watts.append(self.device.run(STEP_S)[1])
                self.celsius.append(self.device.throttling_c)
                self._busy_s = self._rest_s = 0.0


class SimulatedWork:
    """A pacer that lets ``computer`` do the work that was done, and then asks ``budget`` how long to pause. A token of
    a prompt takes ``prompt_share`` of a decoded one."""

    def __init__(self, computer: SimulatedComputer, budget: TokenBudget, prompt_share: float = 0.2) -> None:
        self._computer, self._budget, self._prompt_share = computer, budget, prompt_share
        self.pieces: list[Piece] = []

    @property
    def sizes(self) -> PieceSizes:
        return self._budget.sizes

    def worked(self, piece: Piece) -> None:
        seconds = self._computer.compute(piece.tokens + self._prompt_share * piece.prompt)
        self.pieces.append(replace(piece, seconds=seconds))
        self._budget.worked(self.pieces[-1])


class CountingRuntime(TokenRuntime):
    """A runtime whose next token is the number of tokens before it, with a cache of ``context`` tokens."""

    def __init__(self, context: int) -> None:
        self._context = context

    def next_tokens(self, context: Sequence[int], count: int, *, ignores_end: bool) -> NextTokens:
        end = min(len(context) + count, self._context)
        return NextTokens(tuple(range(len(context), end)), end < len(context) + count)
