"""A random chain of TensorFlow Lite Micro's signal operators, from samples to logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flatbuffers import flexbuffers

from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder


def signal_op(
    b: GraphBuilder, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: int | bool
) -> None:
    """Append a signal operator with its options."""
    b.op("CUSTOM", inputs, outputs)
    b.ops[-1] = replace(b.ops[-1], custom_code=name, custom_options=bytes(flexbuffers.Dumps(options)))


@case("CUSTOM signal operators", alone=True)
def signal(b: GraphBuilder) -> None:
    rng = b.rng
    fft = 1 << int(rng.integers(5, 11))
    samples = int(rng.integers(fft // 2 + 1, fft + 1))
    x = b.input((samples,), "int16")
    windowed, scaled = b.tensor((samples,), "int16"), b.tensor((samples,), "int16")
    bits = b.tensor((), "int32")
    weights = b.const(rng.integers(-8 if rng.random() < 0.2 else 0, 4097, samples), "int16")
    signal_op(b, "SignalWindow", [x, weights], [windowed], shift=int(rng.integers(10, 14)))
    signal_op(b, "SignalFftAutoScale", [windowed], [scaled, bits])
    spectrum, energies = b.tensor((fft + 2,), "int16"), b.tensor((fft // 2 + 1,), "uint32")
    signal_op(b, "SignalRfft", [scaled], [spectrum], T=7, fft_length=fft)
    start = int(rng.integers(0, 5))
    end = int(rng.integers(fft // 4, fft // 2 + 2))
    signal_op(b, "SignalEnergy", [spectrum], [energies], start_index=start, end_index=end)
    channels = int(rng.integers(1, 21))
    sums, roots = b.tensor((channels,), "uint64"), b.tensor((channels,), "uint32")
    tables = [b.const(table, "int16") for table in _filter_bank(rng, channels, start, end)]
    signal_op(b, "SignalFilterBank", [energies, *tables], [sums], num_channels=channels)
    signal_op(b, "SignalFilterBankSquareRoot", [sums, bits], [roots])
    clean, noise = b.tensor((channels,), "uint32"), b.tensor((channels,), "uint32")
    _noise_reduction(b, roots, clean, noise)
    gains = b.const(rng.integers(-16000, 16001, 125), "int16")
    controlled = b.tensor((channels,), "uint32")
    signal_op(b, "SignalPCAN", [clean, noise, gains], [controlled], snr_shift=int(rng.integers(0, 24)))
    result = b.tensor((channels,), "int16")
    correction, scale = int(rng.integers(0, 8)), int(rng.integers(1, 4097))
    signal_op(
        b, "SignalFilterBankLog", [controlled], [result], input_correction_bits=correction, output_scale=scale
    )


def _filter_bank(rng: np.random.Generator, channels: int, start: int, end: int) -> list[np.ndarray]:
    """Return the tables of a filter bank whose parts are among the energies from ``start`` to ``end``."""
    widths = rng.integers(0, min(9, end - start + 1), channels + 1)
    starts = np.array([rng.integers(start, end - width + 1) for width in widths])
    weight_starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    count = max(int(widths.sum()), 1)
    weights = rng.integers(0, 4097, count)
    complementary = rng.random() < 0.5
    rests = 4096 - weights if complementary else rng.integers(0, 4097, count)
    unused = rng.random(count) < 0.1
    return [np.where(unused, 0, weights), np.where(unused, 0, rests), starts, weight_starts, widths]


def _noise_reduction(b: GraphBuilder, source: int, clean: int, noise: int) -> None:
    rng = b.rng
    bits = int(rng.integers(8, 15))
    whole = 1 << bits
    even, odd = (int(rng.integers(0, whole + 1)) for _ in range(2))
    signal_op(
        b,
        "SignalFilterBankSpectralSubtraction",
        [source],
        [clean, noise],
        smoothing=even,
        one_minus_smoothing=whole - even,
        alternate_smoothing=odd,
        alternate_one_minus_smoothing=whole - odd,
        min_signal_remaining=int(rng.integers(0, whole + 1)),
        num_channels=b[source].elements,
        clamping=bool(rng.integers(2)),
        smoothing_bits=int(rng.integers(0, 11)),
        spectral_subtraction_bits=bits,
    )
