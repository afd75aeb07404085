"""The rate at which tokens are computed: the governor's first lever, and the pauses that keep it."""

from __future__ import annotations

from arenite.host.governor.levers import Label, StepLever, fps_lever
from arenite.host.llm.budget.pieces import Piece, PieceSizes

#: The lowest rate and the step between two rates, as shares of the highest one.
_LOWEST, _STEP = 1 / 40, 1 / 160
#: Seconds that a piece of work should take, and those of a piece with its pause.
_WORK_S, _CYCLE_S = 0.25, 0.5
#: A prompt is read in pieces from this number of tokens, because each piece reads all weights, to that of a batch.
_MIN_PROMPT, _MAX_PROMPT = 16, 512
#: The weight of a new measurement in the mean time of a token.
_NEW = 0.3


class TokenRate:
    """Measures the seconds per token, ``token_s`` at first, and divides the work into pieces with pauses.

    Tokens of a prompt are read together and take less time than decoded ones. All work is counted in decoded tokens
    that take as long. They draw about the same power, so the governor has one cost for both.
    """

    def __init__(self, token_s: float) -> None:
        self.token_s = token_s
        self._prompt_token_s = token_s
        self._full = 1 / token_s
        self._limit: float | None = None

    def lever(self) -> StepLever:
        """Return the governor's lever, whose labels are tokens per second."""
        return fps_lever(self._full, self._set, _LOWEST * self._full, _STEP * self._full)

    def _set(self, label: Label) -> None:
        rate = float(label)
        self._limit = rate if rate < self._full * (1 - _STEP / 2) else None

    @property
    def sizes(self) -> PieceSizes:
        """The size of the next piece. Pieces are shorter at a low rate, so that a piece with its pause is short."""
        share = 1.0 if self._limit is None else self._limit * self.token_s
        seconds = min(_WORK_S, share * _CYCLE_S)
        prompt = min(max(round(seconds / self._prompt_token_s), _MIN_PROMPT), _MAX_PROMPT)
        return PieceSizes(prompt, max(round(seconds / self.token_s), 1))

    def measure(self, piece: Piece) -> float:
        """Learn from ``piece``, and return its work in decoded tokens."""
        if piece.tokens:
            self.token_s += _NEW * (piece.seconds / piece.tokens - self.token_s)
            return float(piece.tokens)
        if piece.prompt >= _MIN_PROMPT:  # the last piece can be a few tokens with the first decoded one
            self._prompt_token_s += _NEW * (piece.seconds / piece.prompt - self._prompt_token_s)
        return piece.seconds / self.token_s

    def cycle_s(self, work: float) -> float:
        """Return how many seconds ``work`` decoded tokens must take with their pause, at the present limit."""
        return 0.0 if self._limit is None else work / self._limit
