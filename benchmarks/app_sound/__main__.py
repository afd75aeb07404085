"""Let an application on an emulated board hear hours of composed speech: ``python -m benchmarks.app_sound``.

The recording has speech of people (Debian packages), speech of espeak-ng, keywords at known places, and noise at
four levels. The application hears it in virtual time. The program compares each event with those of the Python
reference, and prints misses and false accepts for each level of noise, lost samples and late windows, and the
processor's load beside its prediction. The exit code is 1 if an event differs, a sample is lost or a window is late.

``--write FILE.wav`` only writes the recording and its label file, for example to tune the thresholds with another seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.converters.decision.record import recorded_decision
from arenite.host.app.applications import application_image, application_names
from arenite.host.app.generate import generate_app
from arenite.host.app.headroom import Headroom
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from benchmarks.app_sound.compose import NOISE_DB, Keyword, compose
from benchmarks.app_sound.hearing import Hearing, hear, reference_lines
from benchmarks.app_sound.speech import RATE, recordings, sentences

ROOT = Path(__file__).resolve().parents[2]
#: Samples after the end of a keyword in which its event may start.
TOLERANCE = RATE
#: The windows whose time is printed, and their titles.
_WINDOWS = (("mean", "mean window"), ("slowest", "slowest window"))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", default="wake_okay_nabu", help=f"an image, or {', '.join(application_names())}"
    )
    parser.add_argument("--board", default="qemu_mps2_an386")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--speech", type=Path, help="folder with WAV files of 16 bits, instead of the Debian packages"
    )
    parser.add_argument("--write", type=Path, help="write the recording and its labels, and run nothing")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    is_shipped = options.model in application_names()
    prepared = prepare(application_image(options.model) if is_shipped else Path(options.model))
    decision = recorded_decision(prepared.extra)
    assert decision is not None
    keywords = [label for label in prepared.extra["labels"] if label not in decision.ignore]
    people = recordings() if options.speech is None else sorted(options.speech.rglob("*.wav"))
    people = [path for path in people if path.stat().st_size > 8000 and path.parent.name != "silence"]
    with tempfile.TemporaryDirectory(prefix="arenite-sound-") as name:
        folder = Path(name)
        sound = options.write or folder / "sound.wav"
        placed = compose(sound, options.minutes * 60, keywords, people, sentences(ROOT), options.seed)
        if options.write:
            lines = [f"{k.start / RATE:.6f}\t{k.end / RATE:.6f}\t{k.text}\n" for k in placed]
            sound.with_suffix(".txt").write_text("".join(lines))
            return 0
        application = generate_app(prepared, load_board(options.board), folder / "app")
        results: dict[str, Any] = {}
        reference = threading.Thread(target=lambda: results.update(lines=reference_lines(application, sound)))
        began = time.monotonic()
        reference.start()
        hearing = hear(application, sound)
        reference.join()
        record = {
            "model": options.model,
            "board": options.board,
            "minutes": options.minutes,
            "seed": options.seed,
            "real_s": round(time.monotonic() - began),
            **figures(hearing, results["lines"], placed, options.minutes * 60),
            **predictions(application.headroom, hearing),
        }
    print(table(record))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if record["is_exact"] and not record["lost"] and not record["late"] else 1


def figures(
    hearing: Hearing, expected: list[Any], placed: Sequence[Keyword], seconds: float
) -> dict[str, Any]:
    """Return what the application heard, beside the events of the reference and the keywords."""
    same = sum(a == b for a, b in zip(hearing.events, expected, strict=False))
    levels = []
    for k, level in enumerate(NOISE_DB):
        edges = [round(seconds * RATE) * n // len(NOISE_DB) for n in (k, k + 1)]
        starts = [e for e in hearing.events if e.is_start and edges[0] <= e.sample < edges[1]]
        waiting = [word for word in placed if edges[0] <= word.start < edges[1]]
        count, accepts = len(waiting), 0
        for event in starts:
            word = next((w for w in waiting if is_heard(w, event.label, event.sample)), None)
            accepts += word is None
            if word is not None:
                waiting.remove(word)
        levels.append(
            {"noise_db": level, "keywords": count, "misses": len(waiting), "false_accepts": accepts}
        )
    return {
        "events": len(hearing.events),
        "equal_events": same,
        "is_exact": hearing.events == expected,
        "levels": levels,
        "keywords": sum(row["keywords"] for row in levels),
        "misses": sum(row["misses"] for row in levels),
        "false_accepts": sum(row["false_accepts"] for row in levels),
        "false_accepts_per_hour": sum(row["false_accepts"] for row in levels) / (seconds / 3600),
        **hearing.counts,
    }


def predictions(headroom: Headroom | None, hearing: Hearing) -> dict[str, float]:
    """Return the predicted percent of the time of a window, and how far they and the headroom, which is the rest of the
    time, are from the measured ones, relative to these. The slowest window is that with the most events at the same
    sample that were heard. Without a prediction, the result is empty."""
    if headroom is None:
        return {}
    lines = max(Counter(event.sample for event in hearing.events).values(), default=0)
    shares = {
        "mean": headroom.duty,
        "slowest": headroom.share(lines, int(hearing.counts["samples"])),
    }
    result = {}
    for name, share in shares.items():
        measured = hearing.counts[f"{name}_percent"]
        result[f"predicted_{name}_percent"] = round(100 * share, 2)
        result[f"{name}_error_percent"] = round(100 * (100 * share / measured - 1), 2)
        if measured < 100:
            error = (100 - 100 * share) / (100 - measured) - 1
            result[f"{name}_headroom_error_percent"] = round(100 * error, 2)
    return result


def is_heard(word: Keyword, label: str, sample: int) -> bool:
    """Return whether an event is that of a keyword."""
    return word.text == label and word.start <= sample < word.end + TOLERANCE


def _time_line(record: dict[str, Any], name: str, title: str) -> str:
    """Return the measured time of a window beside the predicted one."""
    measured = record[f"{name}_percent"]
    line = f"{title}: measured {measured:.2f}% of its time, headroom {100 - measured:.2f}%; "
    predicted = record.get(f"predicted_{name}_percent")
    if predicted is None:
        return line + "no prediction"
    error, headroom_error = record[f"{name}_error_percent"], record.get(f"{name}_headroom_error_percent")
    line += f"predicted {predicted:.2f}%, headroom {100 - predicted:.2f}%; the time differs by {error:+.2f}%"
    return line if headroom_error is None else line + f", the headroom by {headroom_error:+.2f}%"


def table(record: dict[str, Any]) -> str:
    """Return the figures as text and a Markdown table."""
    rows = [
        f"| {row['noise_db']:g} | {row['keywords']} | {row['misses']} | {row['false_accepts']} |"
        for row in record["levels"]
    ]
    return "\n".join(
        [
            f"{record['model']} on {record['board']}: {record['minutes']:g} minutes of sound in {record['real_s']} s",
            f"{record['equal_events']} of {record['events']} events are those of the reference, at the same samples",
            f"{record['windows']} windows, {record['late']} late; {record['samples']} samples, {record['lost']} lost; "
            f"{record['dropped']} lines dropped",
            *(_time_line(record, name, title) for name, title in _WINDOWS),
            f"{record['misses']} of {record['keywords']} keywords missed, "
            f"{record['false_accepts_per_hour']:.2f} false accepts per hour",
            "",
            "| noise in dBFS | keywords | misses | false accepts |",
            "|-:|-:|-:|-:|",
            *rows,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
