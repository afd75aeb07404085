"""Open the budget of a language model, and conclude what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from arenite.host.llm.budget.instruments import Instruments
from arenite.host.llm.budget.options import BudgetOptions
from arenite.host.llm.budget.result import BudgetResult, memory_check
from arenite.host.llm.budget.token_budget import TokenBudget


def open_token_budget(
    options: BudgetOptions, instruments: Instruments, token_s: float, threads: int | None
) -> TokenBudget:
    """Return the budget of ``options`` with the sensors and levers ``instruments``. ``token_s``: seconds per token
    without pauses, with a short context. ``threads``: those that compute, or None for llama.cpp's choice."""
    cores = os.cpu_count() or 1
    return TokenBudget(options.limits, instruments, token_s, min(threads or cores, cores))


def budget_result(
    options: BudgetOptions, resident_bytes: Callable[[], int], budget: TokenBudget | None
) -> BudgetResult | None:
    """Return what became of the limits, or None without a limit. ``resident_bytes`` returns the largest resident set of
    the process that ran the model. ``budget`` is None if no limit needs the governor."""
    checks = () if budget is None else budget.checks()
    if options.memory_mb is not None:
        checks = (*checks, memory_check(options.memory_mb, resident_bytes()))
    return BudgetResult(checks, None if budget is None else budget.result()) if checks else None
