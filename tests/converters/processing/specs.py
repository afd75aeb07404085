"""Hypothesis strategies for preprocessing specifications and input data."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from arenite.converters.processing.specification.image_steps import FORMATS, PAIRS
from arenite.converters.processing.specification.preprocessing import Preprocessing

#: The smallest and largest value of each quantized type.
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


@st.composite
def final_steps(draw: st.DrawFn, channels: int, divide: float = 255.0) -> list[dict[str, Any]]:
    """Draw the last steps: an optional normalize step, and an optional quantize step."""
    steps: list[dict[str, Any]] = []
    if draw(st.booleans()):
        count = draw(st.sampled_from([1, channels]))
        numbers = st.floats(0.125, 1.0, width=32)
        steps.append(
            {
                "do": "normalise",
                "divide": divide,
                "mean": draw(st.lists(numbers, min_size=count, max_size=count)),
                "std": draw(st.lists(numbers, min_size=count, max_size=count)),
            }
        )
    dtype = draw(st.sampled_from(["float32", *RANGES]))
    if dtype != "float32":
        zero = draw(st.integers(*RANGES[dtype]))
        scale = draw(st.floats(2**-10, 2.0, width=32))
        steps.append({"do": "quantise", "dtype": dtype, "scale": scale, "zero_point": zero})
    return steps


@st.composite
def resizes(draw: st.DrawFn, do: str, size: tuple[int, int]) -> dict[str, Any]:
    """Draw a resize or letterbox step (``do``) with a convention that supports it for images of ``size``."""
    convention = draw(st.sampled_from(list(PAIRS)))
    method = draw(st.sampled_from(PAIRS[convention]))
    max_side = min(size) if (convention, method) == ("opencv", "area") else 40
    step: dict[str, Any] = {"do": do, "method": method, "convention": convention}
    if do == "resize" and draw(st.booleans()):
        return step | {"short_side": draw(st.integers(1, max_side))}
    return step | {"width": draw(st.integers(1, max_side)), "height": draw(st.integers(1, max_side))}


@st.composite
def image_cases(draw: st.DrawFn) -> tuple[Preprocessing, str, int, int, np.ndarray]:
    """Draw (preprocessing, format, width and height of an image buffer, the buffer)."""
    from arenite.converters.processing.specification.pixel_formats import buffer_bytes, color_order

    format = draw(st.sampled_from(FORMATS))
    width, height = (2 * draw(st.integers(1, 30)) for _ in range(2))
    order = color_order(format)
    steps: list[dict[str, Any]] = []

    def add_color() -> None:
        """Add a color conversion to some cases."""
        nonlocal order
        if draw(st.booleans()):
            order = draw(st.sampled_from(["rgb", "bgr", "grey"]))
            steps.append(
                {"do": "colour", "to": order, "convention": draw(st.sampled_from(["pil", "opencv"]))}
            )

    size = (width, height)
    if draw(st.booleans()):
        size = (draw(st.integers(1, width)), draw(st.integers(1, height)))
        steps.append({"do": "crop", "width": size[0], "height": size[1]})
    add_color()
    resizing = draw(st.sampled_from(["nothing", "resize", "letterbox"]))
    if resizing != "nothing":
        step = draw(resizes(resizing, size))
        if resizing == "letterbox":
            step["fill"] = [draw(st.integers(0, 255))]
        steps.append(step)
        # Colors are not converted after a resize whose results are not integers.
        has_fractions = step["convention"] not in ("pil", "opencv") and step["method"] != "nearest"
        if not has_fractions:
            add_color()
    if draw(st.booleans()):
        steps.append({"do": "crop", "fraction": draw(st.floats(0.3, 1.0))})
    steps += draw(final_steps(1 if order == "grey" else 3))
    spec = Preprocessing.from_json({"source": {"kind": "image", "format": format}, "steps": steps})
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return spec, format, width, height, rng.integers(0, 256, buffer_bytes(format, width, height), np.uint8)


@st.composite
def micro_cases(draw: st.DrawFn) -> tuple[Preprocessing, np.ndarray]:
    """Draw (preprocessing with the micro front end, int16 samples of a recording)."""
    length = draw(st.sampled_from([32, 33, 64, 100, 256, 400, 480, 512, 700]))
    step: dict[str, Any] = {"do": "micro", "length": length, "step": draw(st.integers(20, 400))}
    step |= {"channels": draw(st.integers(1, 50)), "low": draw(st.floats(0, 300, width=32))}
    step |= {"high": draw(st.floats(1000, 7400, width=32))}
    if length < 64:
        step |= {"high": 6000.0}
    if draw(st.booleans()):
        shares = st.floats(0, 1, width=32)
        step |= {name: draw(shares) for name in ("even_smoothing", "odd_smoothing", "min_signal_remaining")}
        step |= {"smoothing_bits": draw(st.integers(6, 16)), "log_shift": draw(st.integers(0, 8))}
        step |= {"strength": draw(shares), "offset": draw(st.floats(0.125, 1000, width=32))}
        step |= {"gain_bits": draw(st.integers(20, 30))}
    step |= {"pcan": draw(st.booleans()), "log": draw(st.booleans())}
    samples = length + draw(st.integers(0, 3000))
    source = {"kind": "audio", "rate": 16000, "samples": samples}
    final = draw(final_steps(1, draw(st.floats(1.0, 100.0))))
    spec = Preprocessing.from_json({"source": source, "steps": [step, *final]})
    return spec, draw(recordings(draw(st.integers(0, 2 * samples))))


@st.composite
def recordings(draw: st.DrawFn, count: int) -> np.ndarray:
    """Draw ``count`` int16 samples: noise of any level, silence, clipped tones, rare samples of -32768, or tones with
    an envelope like that of speech."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["noise", "any", "sparse", "clipped", "lowest", "tones"]))
    level = 10 ** rng.uniform(0, 4.5)
    time = np.arange(count, dtype=np.float64)
    values: np.ndarray
    if kind == "noise":
        values = rng.normal(0, level, count)
    elif kind == "any":
        values = rng.integers(-32768, 32768, count)
    elif kind == "sparse":
        values = rng.integers(-3, 4, count) * (rng.random(count) < 0.02)
    elif kind == "clipped":
        values = 1e6 * np.sin(time * rng.uniform(0.001, 3))
    elif kind == "lowest":
        values = np.where(rng.random(count) < 0.01, -32768, rng.integers(-200, 200, count))
    else:
        pitch = rng.uniform(0.01, 0.1)
        tones = [level / k * np.sin(k * pitch * time + k) for k in range(1, 20)]
        values = np.sum(tones, axis=0) * np.sin(time / 2500)
    return np.clip(values, -32768, 32767).astype(np.int16)


@st.composite
def audio_cases(draw: st.DrawFn, stream: bool = False) -> tuple[Preprocessing, np.ndarray]:
    """Draw (preprocessing, int16 samples of a recording). With ``stream`` the steps need no whole recording, and the
    samples may be many windows."""
    fft = 1 << draw(st.integers(4, 9))
    center = draw(st.sampled_from(["none"] if stream else ["none", "zeros", "reflect"]))
    padding = "both" if center != "none" else draw(st.sampled_from(["end", "both"]))
    length = draw(st.integers(2, fft))
    samples = draw(st.integers(fft + 1, 3 * fft))
    steps: list[dict[str, Any]] = []
    if not stream and draw(st.booleans()):
        steps.append({"do": "peak", "signed": draw(st.booleans())})
    max_step = 200
    if center == "none" and draw(st.booleans()):
        steps.append({"do": "preemphasis", "coefficient": draw(st.sampled_from([0.001, 0.5, 0.97, 0.999]))})
        max_step = length if stream else max_step
    steps.append({"do": "frame", "length": length, "step": draw(st.integers(1, max_step)), "centre": center})
    kind = draw(st.sampled_from(["hann", "hamming", "none"]))
    steps.append({"do": "window", "kind": kind, "periodic": draw(st.booleans())})
    steps.append({"do": "fft", "length": fft, "power": draw(st.integers(1, 2)), "padding": padding})
    bins = fft // 2 + 1
    if draw(st.booleans()):
        bins = draw(st.integers(1, 20))
        convention = draw(st.sampled_from(["tf", "librosa", "htk"]))
        steps.append({"do": "mel", "bins": bins, "low": 100.0, "high": 7000.0, "convention": convention})
    edge = draw(st.sampled_from(["offset", "floor"]))
    size = 10.0 ** draw(st.integers(-18, 18))
    base = draw(st.sampled_from(["e", "2", "10"]))
    steps.append({"do": "log", "base": base, "factor": draw(st.sampled_from([1.0, 10.0])), edge: size})
    if draw(st.booleans()):
        scaling = draw(st.sampled_from(["tf", "ortho"]))
        steps.append({"do": "mfcc", "coefficients": draw(st.integers(1, bins)), "scaling": scaling})
    steps += draw(final_steps(1, draw(st.floats(1.0, 100.0))))
    source = {"kind": "audio", "rate": 16000, "samples": samples, "unit": draw(st.booleans())}
    spec = Preprocessing.from_json({"source": source, "steps": steps})
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    max_amplitude = draw(st.sampled_from([0, 1, 300, 32768]))
    count = draw(st.integers(0, (8 if stream else 2) * samples))
    return spec, rng.integers(-max_amplitude, max(max_amplitude, 1), count).astype(np.int16)


@st.composite
def imu_cases(draw: st.DrawFn) -> tuple[Preprocessing, np.ndarray]:
    """Draw (preprocessing, int16 samples [moments, axes] of a motion sensor)."""
    from arenite.converters.processing.specification.imu_steps import STATISTICS

    axes, window = draw(st.integers(1, 6)), draw(st.integers(2, 128))
    steps: list[dict[str, Any]] = []
    if draw(st.booleans()):
        values = draw(st.lists(st.sampled_from(STATISTICS), min_size=1, unique=True))
        steps.append({"do": "statistics", "values": values})
    if draw(st.booleans()):
        fft = 1 << draw(st.integers(max(4, (window - 1).bit_length()), 8))
        # At 100 Hz each band has the bins between two of these.
        bins = sorted(draw(st.sets(st.integers(0, fft // 2), min_size=2, max_size=6)))
        steps.append(
            {
                "do": "bands",
                "edges": [100 * k / fft for k in bins],
                "fft": fft,
                "weights": draw(st.sampled_from(["hann", "none"])),
                "factor": draw(st.sampled_from([0.1, 1.0])),
                "remove_mean": draw(st.booleans()),
            }
        )
    # The mean times ``divide`` and ``unit`` must be below 16384.
    steps += draw(final_steps(1, draw(st.floats(0.01, 0.45))))
    source = {
        "kind": "imu",
        "axes": axes,
        "rate": 100,
        "window": window,
        "hop": draw(st.integers(1, 2 * window)),
        "unit": draw(st.sampled_from([1, 3, 8192, 32768])),
    }
    spec = Preprocessing.from_json({"source": source, "steps": steps})
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    amplitude = draw(st.sampled_from([0, 1, 300, 32768]))
    count = draw(st.integers(0, 5 * window))
    offset = draw(st.sampled_from([0, 0, 8192, -32768]))
    moments = rng.integers(-amplitude, max(amplitude, 1), (count, axes)) + offset
    return spec, moments.clip(-32768, 32767).astype(np.int16)
