"""Lower the signal operators after the FFT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.signal.filters import FilterBank, Log, Pcan, SpectralSubtraction, SquareRoot
from arenite.converters.graph.signal.operators import state_name
from arenite.firmware.generator.lower.core.lowering import NULL, LowerContext, register, u16
from arenite.firmware.generator.lower.signal.signal_lowering import SignalLowering


@register
class SignalFilterBank(SignalLowering[FilterBank]):
    op_name = "SignalFilterBank"
    supports = "uint32 to uint64, with constant int16 weights and unweights of at least 0"
    kernels = ("filter_bank.c",)
    operator = FilterBank
    kernel = "filter_bank"
    header = "filter_bank.h"

    def fields(self, ctx: LowerContext, operator: FilterBank) -> Mapping[str, Any]:
        parts = compact_parts(operator)
        whole = _sum_of_shares(parts)
        weights, rests = (np.concatenate(shares) for shares in (parts.weights, parts.rests))
        if whole is not None:
            # The weights of part 0 add to no channel, so they can be the other share too.
            weights[: parts.counts[0]] = whole - parts.rests[0]
        return {
            "starts": ctx.table(np.array(parts.starts, np.uint16), "starts"),
            "counts": ctx.table(np.array(parts.counts, np.uint16), "counts"),
            "weights": ctx.weights(weights.astype(np.uint16), "weights"),
            "rests": ctx.weights(rests.astype(np.uint16), "rests") if whole is None else NULL,
            "whole": whole or 0,
            "channels": operator.channels,
        }


@dataclass(frozen=True)
class Parts:
    """The parts of a filter bank: the first energy of each, the number of its energies, and their shares for the two
    channels, as int64."""

    starts: list[int]
    counts: list[int]
    weights: list[np.ndarray]
    rests: list[np.ndarray]


def compact_parts(operator: FilterBank) -> Parts:
    """Return the parts without the energies at both ends of a part that no filter uses. TensorFlow Lite Micro's tables
    have such energies, because they are aligned."""
    parts = Parts([], [], [], [])
    for k in range(operator.channels + 1):
        energies, places = operator.part(k)
        weights, rests = (t[places].astype(np.int64) for t in (operator.weights, operator.rests))
        used = np.flatnonzero(weights | rests)
        first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        parts.starts.append(energies.start + first)
        parts.counts.append(last - first)
        parts.weights.append(weights[first:last])
        parts.rests.append(rests[first:last])
    return parts


def _sum_of_shares(parts: Parts) -> int | None:
    """Return the sum of both shares of an energy if it is the same for all energies of the inner parts, and if no rest
    of part 0 is larger; otherwise None."""
    sums = [w + r for w, r in zip(parts.weights[1:-1], parts.rests[1:-1], strict=True)]
    together = np.unique(np.concatenate([np.empty(0, np.int64), *sums]))
    if len(together) != 1 or int(parts.rests[0].max(initial=0)) > together[0]:
        return None
    return int(together[0])


@register
class SignalFilterBankSquareRoot(SignalLowering[SquareRoot]):
    op_name = "SignalFilterBankSquareRoot"
    supports = "uint64 to uint32"
    kernels = ("channels.c", "filter_bank_root.c")
    operator = SquareRoot
    kernel = "filter_bank_root"
    header = "filter_bank.h"

    def fields(self, ctx: LowerContext, operator: SquareRoot) -> Mapping[str, Any]:
        return {
            "scale_bits": ctx.input_ptr(1),
            "channels": u16(ctx.op, ctx.output().elements, "number of channels"),
        }


@register
class SignalFilterBankSpectralSubtraction(SignalLowering[SpectralSubtraction]):
    op_name = "SignalFilterBankSpectralSubtraction"
    supports = "uint32; the estimate of the noise is a state between inferences"
    kernels = ("channels.c", "filter_bank_noise.c")
    operator = SpectralSubtraction
    kernel = "filter_bank_noise"
    header = "filter_bank.h"
    overwrites_input = True

    def fields(self, ctx: LowerContext, operator: SpectralSubtraction) -> Mapping[str, Any]:
        return {
            "noise": ctx.output_ptr(1),
            "state": ctx.variable_ptr(state_name(ctx.op)),
            "settings": operator.settings.fields(),
            "channels": operator.channels,
        }


@register
class SignalPcan(SignalLowering[Pcan]):
    op_name = "SignalPCAN"
    supports = "uint32, with a constant table of gains (int16)"
    kernels = ("channels.c", "filter_bank_gain.c")
    operator = Pcan
    kernel = "filter_bank_gain"
    header = "filter_bank.h"
    overwrites_input = True

    def fields(self, ctx: LowerContext, operator: Pcan) -> Mapping[str, Any]:
        return {
            "noise": ctx.input_ptr(1),
            "gains": ctx.input_ptr(2),
            "channels": u16(ctx.op, ctx.output().elements, "number of channels"),
            "shift": operator.shift,
        }


@register
class SignalFilterBankLog(SignalLowering[Log]):
    op_name = "SignalFilterBankLog"
    supports = "uint32 to int16"
    kernels = ("channels.c", "filter_bank_log.c")
    operator = Log
    kernel = "filter_bank_log"
    header = "filter_bank.h"

    def fields(self, ctx: LowerContext, operator: Log) -> Mapping[str, Any]:
        return {
            "logs": ctx.table(operator.table, "logarithms"),
            "scale": operator.scale,
            "channels": u16(ctx.op, ctx.output().elements, "number of channels"),
            "correction": operator.correction,
        }
