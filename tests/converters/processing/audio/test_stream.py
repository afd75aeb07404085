"""Features of an endless recording: NumPy and C give the bytes of the whole-clip conversion, for any chunks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.audio.stream import AudioStream
from arenite.converters.processing.native import library as native
from arenite.converters.processing.native.compiled_stream import CompiledStream
from arenite.converters.processing.preprocess import open_stream
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from tests.converters.processing.specs import audio_cases

FRAME = {"do": "frame", "length": 480, "step": 320}
FFT, LOG = {"do": "fft", "length": 512}, {"do": "log", "offset": 1e-6}
AUDIO = {"kind": "audio", "rate": 16000, "samples": 16000}
Stream = AudioStream | CompiledStream


def spec_of(*steps: dict[str, Any], **source: Any) -> Preprocessing:
    return Preprocessing.from_json({"source": AUDIO | source, "steps": list(steps)})


def streams(spec: Preprocessing, advance: int) -> list[Stream]:
    """Return the stream of NumPy, and that of C if there is a compiler."""
    library = native.library()
    both: list[Stream] = [AudioStream(spec, advance)]
    return both if library is None else [*both, CompiledStream(library, spec, advance)]


def whole_clips(spec: Preprocessing, samples: np.ndarray, advance: int) -> list[tuple[int, bytes]]:
    """Return the position and the bytes of each window, converted as a recording of its own. With pre-emphasis, it is
    a part of the whole recording's features, because the sample before it counts."""
    plan = plan_audio(spec)
    span = (plan.frames - 1) * plan.step + plan.length
    begins = range(0, len(samples) - span + 1, advance * plan.step)
    if plan.preemphasis and len(begins):
        assert isinstance(spec.source, AudioSource)
        rows = preprocess_audio(replace(spec, source=replace(spec.source, samples=len(samples))), samples)
        return [(b + span, rows[b // plan.step :][: plan.frames].tobytes()) for b in begins]
    return [(b + span, preprocess_audio(spec, samples[b : b + plan.samples]).tobytes()) for b in begins]


def check_windows(spec: Preprocessing, samples: np.ndarray, advance: int, cuts: list[int]) -> None:
    """Check the windows of each stream for ``samples``, which are fed in chunks that end at ``cuts``."""
    expected = whole_clips(spec, samples, advance)
    edges = [0, *sorted(cuts), len(samples)]
    for stream in streams(spec, advance):
        windows = [w for begin, end in pairwise(edges) for w in stream.feed(samples[begin:end])]
        assert [(w.position, w.features.tobytes()) for w in windows] == expected
        assert stream.position == len(samples)


@settings(max_examples=25, deadline=None)
@given(audio_cases(stream=True), st.data())
def test_windows_have_the_bytes_of_whole_clips(
    case: tuple[Preprocessing, np.ndarray], data: st.DataObject
) -> None:
    spec, samples = case
    advance = data.draw(st.integers(1, plan_audio(spec).frames))
    cuts = data.draw(st.lists(st.integers(0, len(samples)), max_size=20))
    check_windows(spec, samples, advance, cuts)


@pytest.mark.parametrize(("step", "samples"), [(320, 1120), (480, 1440), (700, 1200), (320, 480)])
@pytest.mark.slow
def test_frames_may_overlap_touch_or_leave_gaps(step: int, samples: int) -> None:
    """The last case has windows of one frame."""
    spec = spec_of(FRAME | {"step": step}, FFT, LOG, samples=samples)
    sound = np.random.default_rng(1).integers(-3000, 3000, 9000).astype(np.int16)
    for advance in range(1, plan_audio(spec).frames + 1):
        for size in (1, 7, 320, 481, 9000):
            check_windows(spec, sound, advance, list(range(size, len(sound), size)))


def test_a_thousand_hops_of_the_keyword_front_end_are_exact() -> None:
    spec = spec_of(
        FRAME,
        {"do": "window"},
        FFT,
        {"do": "mel", "bins": 40, "low": 20, "high": 4000},
        LOG,
        {"do": "mfcc", "coefficients": 10},
        {"do": "quantise", "dtype": "int8", "scale": 0.58, "zero_point": 83},
    )
    rng = np.random.default_rng(2)
    loudness = np.repeat(2.0 ** rng.uniform(0, 14, 120), 3000)
    sound = rng.normal(0, loudness).clip(-32768, 32767).astype(np.int16)[:340_000]
    assert len(whole_clips(spec, sound[:16000], 1)) == 1
    rows = preprocess_audio(
        Preprocessing.from_json(spec.to_json() | {"source": AUDIO | {"samples": len(sound)}}), sound
    )
    for stream in streams(spec, 1):
        windows = [w for k in range(0, len(sound), 777) for w in stream.feed(sound[k : k + 777])]
        assert len(windows) == len(rows) - 48 >= 1000
        assert all(w.features.tobytes() == rows[k : k + 49].tobytes() for k, w in enumerate(windows))
        assert [w.position for w in windows] == [48 * 320 + 480 + 320 * k for k in range(len(windows))]


def test_a_restart_forgets_what_came_before() -> None:
    spec = spec_of(FRAME, FFT, LOG, samples=1120)
    sound = np.random.default_rng(3).integers(-3000, 3000, 5000).astype(np.int16)
    for stream in streams(spec, 1):
        stream.feed(sound[:2222])
        stream.restart(1_000_000)
        windows = stream.feed(sound)
        assert [(w.position - 1_000_000, w.features.tobytes()) for w in windows] == whole_clips(
            spec, sound, 1
        )


@pytest.mark.parametrize(
    ("steps", "advance", "problem", "advice"),
    [
        ([{"do": "peak"}, FRAME, FFT, LOG], 1, "largest sample of a whole recording", "Train without 'peak'"),
        (
            [FRAME | {"centre": "zeros"}, FFT | {"padding": "both"}, LOG],
            1,
            "pads both ends",
            'centre = "none"',
        ),
        ([FRAME | {"centre": "reflect"}, FFT | {"padding": "both"}, LOG], 1, "pads both ends", "not centred"),
        ([{"do": "preemphasis"}, FRAME | {"step": 481}, FFT, LOG], 1, "sample before a frame", "at most 480"),
        ([FRAME, FFT, LOG], 50, "advance by 50 rows, but a window has 49", "1 to 49"),
        ([FRAME, FFT, LOG], 0, "advance by 0 rows", "1 to 49"),
    ],
)
def test_steps_that_need_a_whole_recording_are_refused(
    steps: list[dict[str, Any]], advance: int, problem: str, advice: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        open_stream(spec_of(*steps), advance)
    assert advice in str(caught.value.hint)
