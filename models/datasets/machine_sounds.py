"""Sounds of a fan with a motor, from a generator. They are not recordings: no package that we know contains sounds of
machines with and without faults.

A healthy fan has the harmonics of its rotation and of its blades, the hum of a motor at the mains frequency, a faint
whine, and the noise of air, which swells with the blades. Its speed and its load wander. The impulses of a damaged
bearing make the housing ring (P. McFadden and J. Smith, *Model for the vibration produced by a single point defect in a
rolling element bearing*, 1984). Imbalance strengthens the rotation, a belt squeals, a blocked inlet changes the noise
of the air, and a loose part rattles. The noise of the room is around all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

RATE = 16000
#: The level of the fan, as root mean square of int16 samples, at a load of 1.
LEVEL = 1500.0
BLADES = 7
#: The mean speed in turns per second, and how much it wanders.
SPEED, SPREAD = 24.0, 1.5
#: The impulses per turn of a bearing whose outer race is damaged.
BEARING_ORDER = 3.58
MAINS = 50.0


def fan(
    seconds: float, rng: np.random.Generator, fault: str | None = None, strength: float = 1.0
) -> np.ndarray:
    """Return int16 samples [samples] of the fan, healthy or with a ``fault`` of ``FAULTS``. ``strength`` multiplies the
    sound of the fault.

    Raises KeyError if there is no such fault.
    """
    count = round(seconds * RATE)
    speed = SPEED + SPREAD * _wander(count, rng)
    turns = np.cumsum(speed) / RATE + rng.uniform()
    load = 1 + 0.15 * _wander(count, rng)
    rotation = _harmonics(turns, 6, 1.0, rng)
    blades = _harmonics(BLADES * turns, 4, 0.7, rng)
    hum = _harmonics(2 * MAINS * np.arange(count) / RATE, 3, 0.5, rng)
    whine = 0.1 * np.sin(2 * np.pi * 41 * turns)
    air = _colored(count, 500.0, rng) * (1 + 0.2 * np.sin(2 * np.pi * BLADES * turns))
    healthy = load * (0.5 * rotation + 0.5 * blades + 0.3 * hum + whine + 1.2 * air)
    room = 0.1 * _colored(count, 150.0, rng) * (1 + 0.5 * _wander(count, rng))
    sound = healthy + room
    if fault is not None:
        sound = sound + strength * FAULTS[fault](turns, rotation, air, rng)
    level = LEVEL / 1.6  # the root mean square of a healthy fan is about 1.6
    return np.clip(np.round(level * sound), -32768, 32767).astype(np.int16)


def _wander(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return numbers [count] about between -1 and 1 that change in the course of seconds."""
    knots = rng.normal(0, 0.5, count // RATE + 3)
    return np.clip(np.interp(np.arange(count) / RATE, np.arange(len(knots)), knots), -1, 1)


def _harmonics(turns: np.ndarray, count: int, fall: float, rng: np.random.Generator) -> np.ndarray:
    """Return a tone with ``count`` harmonics, whose amplitudes are ``fall`` / k. ``turns`` are the periods so far."""
    phases = rng.uniform(0, 2 * np.pi, count)
    tones = [fall / k * np.sin(2 * np.pi * k * turns + phases[k - 1]) for k in range(1, count + 1)]
    return np.asarray(np.sum(tones, axis=0))


def _colored(count: int, corner: float, rng: np.random.Generator) -> np.ndarray:
    """Return noise with a root mean square of 1, which falls by 6 dB per octave above ``corner`` Hz."""
    spectrum = np.fft.rfft(rng.normal(0, 1, count))
    spectrum /= np.sqrt(1 + (np.fft.rfftfreq(count, 1 / RATE) / corner) ** 2)
    noise = np.fft.irfft(spectrum, count)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)))


def _ringing(at: np.ndarray, sizes: np.ndarray, count: int, hertz: float, decay_s: float) -> np.ndarray:
    """Return impulses of ``sizes`` at the samples ``at``, each of which makes a resonance at ``hertz`` ring."""
    impulses = np.zeros(count)
    np.add.at(impulses, at[at < count], sizes[at < count])
    time = np.arange(round(8 * decay_s * RATE)) / RATE
    length = count + len(time)
    ring = np.sin(2 * np.pi * hertz * time) * np.exp(-time / decay_s)
    return np.fft.irfft(np.fft.rfft(impulses, length) * np.fft.rfft(ring, length), length)[:count]


def _bearing(
    turns: np.ndarray, rotation: np.ndarray, air: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    at = np.flatnonzero(np.diff(np.floor(BEARING_ORDER * turns)))
    at = np.clip(at + rng.integers(-4, 5, len(at)), 0, len(turns) - 1)  # the balls slip
    return _ringing(at, rng.uniform(0.7, 1.3, len(at)), len(turns), 3200.0, 0.0015)


def _imbalance(
    turns: np.ndarray, rotation: np.ndarray, air: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    return 2.0 * np.sin(2 * np.pi * turns) + air * 0.8 * np.sin(2 * np.pi * turns)


def _squeal(turns: np.ndarray, rotation: np.ndarray, air: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    pitch = 2300 + 40 * _wander(len(turns), rng) + 15 * np.sin(2 * np.pi * turns)
    slips = np.sin(2 * np.pi * turns / 9) > -0.5
    return 0.25 * slips * np.sin(2 * np.pi * np.cumsum(pitch) / RATE)


def _blocked(
    turns: np.ndarray, rotation: np.ndarray, air: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    return 1.5 * _colored(len(turns), 120.0, rng) - 0.5 * air


def _rattle(turns: np.ndarray, rotation: np.ndarray, air: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    count = rng.poisson(20 * len(turns) / RATE)
    at = rng.integers(0, len(turns), count)
    return _ringing(at, rng.uniform(0.5, 1.5, count), len(turns), 1400.0, 0.004)


Fault = Callable[[np.ndarray, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
#: What each fault adds, from the turns so far, the sounds of rotation and air, and a generator of random numbers.
FAULTS: dict[str, Fault] = {
    "bearing": _bearing,
    "imbalance": _imbalance,
    "squeal": _squeal,
    "blocked": _blocked,
    "rattle": _rattle,
}
