"""Run the sound steps in the libraries that training pipelines use: SciPy, librosa, TensorFlow."""

from __future__ import annotations

from importlib.metadata import version
from typing import cast

import numpy as np

from arenite.converters.processing.audio.plan import FEATURE_BITS, AudioPlan
from arenite.converters.processing.audio.reference import prepare_clip
from arenite.converters.processing.skew.framework_processes import Frameworks
from arenite.converters.processing.specification.audio_steps import (
    AudioSource,
    AudioWindow,
    Fft,
    Frame,
    Log,
    Mel,
    Mfcc,
    Preemphasis,
)
from arenite.converters.processing.specification.preprocessing import Preprocessing

#: The largest difference of spectra and filter results that counts as rounding, as a share of the largest value.
RELATIVE = 1e-4
#: The largest difference of logarithms that counts as rounding.
LOGARITHM = 2e-3

#: A library's result, its name and version, and the largest difference that counts as rounding. Or the reason why no
#: library can run the step.
Expected = tuple[np.ndarray, str, float] | str


class SoundSteps:
    """Runs the stages of the preprocessing ``spec`` in the libraries."""

    def __init__(self, spec: Preprocessing, plan: AudioPlan, frameworks: Frameworks) -> None:
        self.plan, self.frameworks = plan, frameworks
        assert isinstance(spec.source, AudioSource)
        self.source = spec.source
        kinds = {type(step): step for step in spec.steps}
        self.frame, self.fft, self.log = kinds[Frame], kinds[Fft], kinds[Log]
        self.window, self.mel, self.mfcc = (kinds.get(k) for k in (AudioWindow, Mel, Mfcc))
        self.preemphasis: Preemphasis | None = next(
            (s for s in spec.steps if isinstance(s, Preemphasis)), None
        )
        self.convention = self.mel.convention if isinstance(self.mel, Mel) else ""

    def expected(self, stage: str, before: np.ndarray) -> Expected:
        """Run ``stage`` in a library on ``before``, the output of Arenite's previous stage. For the first stage,
        ``spectrum``, ``before`` has int16 samples."""
        return cast(Expected, getattr(self, f"_{stage}")(before))

    def real_clip(self, samples: np.ndarray) -> np.ndarray:
        """Return float64 samples as in the training pipeline: padded or cut, with ``unit`` in [-1, 1), or divided by
        the peak if there is such a step, and after pre-emphasis."""
        clip, top = prepare_clip(self.plan, samples)
        unit = 32768.0 if self.source.unit and not self.plan.peak else 1.0
        real = clip / unit / top
        if self.preemphasis is not None:
            real = np.append(real[0], real[1:] - self.preemphasis.coefficient * real[:-1])
        return real

    def _spectrum(self, samples: np.ndarray) -> Expected:
        clip = self.real_clip(samples)
        frame, fft, window = self.frame, self.fft, self.window
        kind = window.kind if isinstance(window, AudioWindow) else "none"
        periodic = not isinstance(window, AudioWindow) or window.periodic
        assert isinstance(frame, Frame) and isinstance(fft, Fft)
        tensorflow = self.convention == "tf" and frame.centre == "none" and kind == "hann" and periodic
        if tensorflow and self.frameworks.available("tensorflow"):
            job = {"op": "spectrum", "length": frame.length, "step": frame.step, "fft": fft.length}
            job |= {"window": kind, "power": fft.power}
            result, name = self.frameworks.run("tensorflow", job, clip)
            return result[:, : self.plan.filters.last_bin].astype(np.float64), name, RELATIVE
        if frame.centre != "none" and periodic:
            try:
                import librosa
            except ImportError:
                pass
            else:
                result = librosa.stft(
                    clip,
                    n_fft=fft.length,
                    hop_length=frame.step,
                    win_length=frame.length,
                    window="boxcar" if kind == "none" else kind,
                    center=True,
                    pad_mode="constant" if frame.centre == "zeros" else "reflect",
                )
                values = np.abs(result.T[:, : self.plan.filters.last_bin]) ** fft.power
                return values, f"librosa {librosa.__version__}", RELATIVE
        try:
            import scipy.fft
            import scipy.signal
        except ImportError:
            return "needs SciPy: pip install 'arenite[skew]'"
        pad = fft.length // 2 if frame.centre != "none" else 0
        if pad:
            clip = np.pad(clip, pad, mode="constant" if frame.centre == "zeros" else "reflect")
        shape = scipy.signal.get_window("boxcar" if kind == "none" else kind, frame.length, fftbins=periodic)
        inset = self.plan.inset
        span = fft.length if pad else frame.length
        frames = np.lib.stride_tricks.sliding_window_view(clip, span)[:: frame.step]
        padded = np.zeros((len(frames), fft.length))
        used = frames[:, inset : inset + frame.length] if pad else frames
        padded[:, inset : inset + frame.length] = used * shape
        spectrum = np.asarray(scipy.fft.rfft(padded))[:, : self.plan.filters.last_bin]
        return np.abs(spectrum) ** fft.power, f"SciPy {version('scipy')}", RELATIVE

    def _mel(self, spectrum: np.ndarray) -> Expected:
        mel, fft = self.mel, self.fft
        assert isinstance(fft, Fft)
        if not isinstance(mel, Mel):
            return "there are no filters"
        high = mel.high or self.source.rate / 2
        if mel.convention == "tf":
            if not self.frameworks.available("tensorflow"):
                return "needs tensorflow, which `arenite skew --install` downloads"
            job = {"op": "mel", "bins": mel.bins, "fft": fft.length, "rate": self.source.rate}
            job |= {"low": mel.low, "high": high}
            filtered, name = self.frameworks.run("tensorflow", job, spectrum)
            return filtered.astype(np.float64), name, RELATIVE
        try:
            import librosa
        except ImportError:
            return "needs librosa: pip install librosa"
        htk = mel.convention == "htk"
        matrix = librosa.filters.mel(
            sr=self.source.rate, n_fft=fft.length, n_mels=mel.bins, fmin=mel.low, fmax=high, htk=htk,
            norm=None if htk else "slaney", dtype=np.float64,
        )  # fmt: skip
        return spectrum @ matrix[:, : spectrum.shape[1]].T, f"librosa {librosa.__version__}", RELATIVE

    def _log(self, values: np.ndarray) -> Expected:
        log = self.log
        assert isinstance(log, Log)
        inner = np.maximum(values, log.floor) if log.floor else values + log.offset
        logarithms = log.factor * {"e": np.log, "2": np.log2, "10": np.log10}[log.base](inner)
        return logarithms, f"NumPy {np.__version__}", LOGARITHM * log.factor

    def _mfcc(self, logs: np.ndarray) -> Expected:
        mfcc = self.mfcc
        assert isinstance(mfcc, Mfcc)
        values = logs / (1 << FEATURE_BITS)
        if mfcc.scaling == "tf" and self.frameworks.available("tensorflow"):
            job = {"op": "mfcc", "coefficients": mfcc.coefficients}
            coefficients, name = self.frameworks.run("tensorflow", job, values)
            return coefficients.astype(np.float64), name, LOGARITHM
        try:
            import scipy.fft
        except ImportError:
            return "needs SciPy: pip install 'arenite[skew]'"
        coefficients = np.asarray(scipy.fft.dct(values, type=2, norm="ortho"))[:, : mfcc.coefficients]
        if mfcc.scaling == "tf":
            coefficients[:, 0] *= np.sqrt(2)
        return coefficients, f"SciPy {version('scipy')}", LOGARITHM
