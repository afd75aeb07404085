"""Lower the signal operators from samples to the energies of a spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.converters.graph.signal.fft16 import sine_wave
from arenite.converters.graph.signal.spectrum import MAX_FFT, MIN_FFT, Energy, FftAutoScale, Rfft, Window
from arenite.firmware.generator.lower.core.lowering import LowerContext, register, u16
from arenite.firmware.generator.lower.signal.signal_lowering import SignalLowering


@register
class SignalWindow(SignalLowering[Window]):
    op_name = "SignalWindow"
    supports = "int16, with constant weights"
    kernels = ("signal_window.c",)
    operator = Window
    kernel = "signal_window"
    header = "spectrum.h"
    overwrites_input = True

    def fields(self, ctx: LowerContext, operator: Window) -> Mapping[str, Any]:
        length = u16(ctx.op, len(operator.weights), "number of weights")
        return {
            "weights": ctx.input_ptr(1),
            "rows": ctx.output().elements // length,
            "length": length,
            "shift": operator.shift,
        }


@register
class SignalFftAutoScale(SignalLowering[FftAutoScale]):
    op_name = "SignalFftAutoScale"
    supports = "int16"
    kernels = ("signal_scale.c",)
    operator = FftAutoScale
    kernel = "signal_scale"
    header = "spectrum.h"
    overwrites_input = True

    def fields(self, ctx: LowerContext, operator: FftAutoScale) -> Mapping[str, Any]:
        return {"scale_bits": ctx.output_ptr(1), "count": ctx.output().elements}


@register
class SignalRfft(SignalLowering[Rfft]):
    op_name = "SignalRfft"
    supports = f"int16; the length is a power of two from {MIN_FFT} to {MAX_FFT}"
    kernels = ("fft16.c", "signal_rfft.c")
    operator = Rfft
    kernel = "signal_rfft"
    header = "spectrum.h"

    def fields(self, ctx: LowerContext, operator: Rfft) -> Mapping[str, Any]:
        length = ctx.input_tensor(0).shape[-1]
        return {
            "wave": ctx.table(sine_wave(operator.length), "wave"),
            "rows": ctx.input_tensor(0).elements // length,
            "length": length,
            "fft": operator.length,
        }


@register
class SignalEnergy(SignalLowering[Energy]):
    op_name = "SignalEnergy"
    supports = "int16 to uint32; the energies outside of the range are 0"
    kernels = ("signal_energy.c",)
    operator = Energy
    kernel = "signal_energy"
    header = "spectrum.h"
    overwrites_input = True

    def fields(self, ctx: LowerContext, operator: Energy) -> Mapping[str, Any]:
        return {"count": ctx.output().elements, "start": operator.start, "end": operator.end}
