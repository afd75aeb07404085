"""Hostile settings: recipes, preprocessing, matrices, results, traces, environment variables, project folders."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.host.small_graphs import classifier, save
from tests.security.attack import Attack
from tests.security.attack_runner import Prepared

BOARD = "qemu_mps2_an386"
#: The depth of nested brackets, with which a recursive parser would overflow its stack.
DEEP = 100_000
Make = Callable[[Path], Prepared | Sequence[object]]


def model(work: Path) -> Path:
    """Write a small int8 model that all commands accept."""
    return save(classifier(), work / "small.tflite")


def text_file(name: str, text: str, *arguments: object) -> Make:
    """Return a function that writes a text file, and returns ``arguments`` with FILE and MODEL replaced by paths."""

    def make(work: Path) -> list[object]:
        path = work / name
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return [path if a == "FILE" else model(work) if a == "MODEL" else a for a in arguments]

    return make


def recipe(text: str) -> Make:
    """Return a function that writes a recipe file, and returns a conversion that uses it."""
    return text_file("r.toml", text, "convert", "MODEL", "--recipe", "FILE", "-o", "out.tflite")


def steps(*records: dict[str, object], source: dict[str, object] | None = None) -> Make:
    """Return a function that writes preprocessing with these steps, and returns a camera command that uses it."""
    record = {"source": source or {"kind": "image", "format": "rgb"}, "steps": list(records)}
    text = json.dumps(record)

    def make(work: Path) -> list[object]:
        from PIL import Image

        (work / "p.json").write_text(text)
        folder = work / "pictures"
        folder.mkdir()
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / "a.png")
        return [
            "camera",
            "--source",
            folder / "*.png",
            "--model",
            model(work),
            "--preprocessing",
            work / "p.json",
            "--frames",
            2,
        ]

    return make


def audio(*records: dict[str, object], samples: object = 16000) -> Make:
    """Return a function that writes preprocessing of sound with these steps, and returns a command that uses it."""
    return steps(*records, source={"kind": "audio", "rate": 16000, "samples": samples})


def duty(name: str, text: str, option: str, *more: object) -> Make:
    """Return a function that writes the file ``name``, and returns ``arenite duty`` with the file as the value of
    ``option``."""
    return text_file(
        name, text, "duty", option, "FILE", "--service", "5", "--active-mw", "10", "--sleep-uw", "5", *more
    )


def energy_csv(text: str) -> Make:
    """Return a function that writes a recording of a current, and returns ``arenite energy`` of this file."""
    return text_file("trace.csv", text, "energy", "MODEL", "--board", "nucleo_l4r5zi", "--csv", "FILE")


def store(script: str) -> Make:
    """Return a function that makes an SQLite file with an SQL script, and returns ``bench history`` of this file."""

    def make(work: Path) -> list[object]:
        with sqlite3.connect(work / "hostile.sqlite") as connection:
            connection.executescript(script)
        connection.close()
        return ["bench", "history", "--store", work / "hostile.sqlite"]

    return make


def project_with_a_link(work: Path) -> list[object]:
    """Make a project folder whose source folder is a link to a folder of the user. Return a command that writes the
    project."""
    project, victim = work / "project", work.parent / "victim"
    project.mkdir()
    victim.mkdir()
    (victim / "main.c").write_text("mine")
    (project / "src").symlink_to(victim)
    (project / "arenite.json").write_text(json.dumps({"files": ["src/main.c", "src/model.c"]}))
    return ["firmware", model(work), "--board", BOARD, "-o", project]


def project_that_lists_a_link(work: Path) -> list[object]:
    """Make a project folder whose manifest lists a file of the user, which is reached over a link. Return a command
    that would delete obsolete files of the project."""
    project, victim = work / "project", work.parent / "victim"
    project.mkdir()
    victim.mkdir()
    (victim / "diary").write_text("mine")
    (project / "old").symlink_to(victim)
    (project / "arenite.json").write_text(json.dumps({"files": ["old/diary"]}))
    return ["firmware", model(work), "--board", BOARD, "-o", project]


SETTING_ATTACKS = [
    Attack("recipe-nested", 2, ["r.toml"], recipe("a = " + "[" * DEEP)),
    Attack("recipe-number-without-end", 2, ["r.toml"], recipe("weights = " + "9" * 100_000)),
    Attack("recipe-is-binary", 2, ["r.toml"], recipe("\udcff\udcfe\x00")),
    Attack(
        "steps-nested",
        2,
        ["p.json"],
        text_file(
            "p.json",
            "[" * DEEP,
            "camera",
            "--source",
            "synthetic",
            "--model",
            "MODEL",
            "--preprocessing",
            "FILE",
            "--frames",
            "2",
        ),
    ),
    Attack(
        "steps-of-a-huge-picture", 2, ["Resize"], steps({"do": "resize", "width": 60000, "height": 60000})
    ),
    Attack("steps-size-beyond-64-bits", 2, ["Resize"], steps({"do": "resize", "width": 2**70, "height": 1})),
    Attack("steps-divide-by-zero", 2, ["Normalise"], steps({"do": "normalise", "divide": 0})),
    Attack(
        "steps-infinite-mean", 2, ["finite"], steps({"do": "normalise", "divide": 1, "mean": float("inf")})
    ),
    Attack(
        "steps-huge-fft",
        2,
        ["FFT"],
        audio({"do": "frame", "length": 480, "step": 320}, {"do": "window"}, {"do": "fft", "length": 2**40}),
    ),
    Attack(
        "steps-huge-recording",
        2,
        ["samples"],
        audio({"do": "frame", "length": 480, "step": 1}, samples=2**40),
    ),
    Attack("steps-hundred-thousand", 2, ["1x12x12x3"], steps(*[{"do": "crop", "fraction": 1.0}] * 100_000)),
    Attack(
        "matrix-nested",
        2,
        ["m.toml"],
        text_file("m.toml", "models = " + "[" * DEEP, "bench", "matrix", "FILE"),
    ),
    Attack(
        "matrix-model-that-is-an-option",
        2,
        ["m.toml"],
        text_file(
            "m.toml", f'models = ["--keep=../outside"]\nboards = ["{BOARD}"]\n', "bench", "matrix", "FILE"
        ),
    ),
    Attack(
        "matrix-of-a-billion-cells",
        2,
        ["m.toml"],
        text_file(
            "m.toml",
            f"models = {['x.tflite'] * 30000}\nboards = {[BOARD] * 30000}\n",
            "bench",
            "matrix",
            "FILE",
        ),
    ),
    Attack(
        "compare-nested", 2, ["a.json"], text_file("a.json", "[" * DEEP, "bench", "compare", "FILE", "FILE")
    ),
    Attack(
        "compare-infinite-figures",
        2,
        ["a.json"],
        text_file(
            "a.json",
            '{"schema": "arenite.bench/1", "arena_bytes": 1e999, "instructions": -1e999}',
            "bench",
            "compare",
            "FILE",
            "FILE",
        ),
    ),
    Attack(
        "compare-names-of-terminal-codes",
        2,
        ["a.json"],
        text_file(
            "a.json",
            json.dumps({"schema": "\x1b]0;owned\x07", "board": "\x1b[2J"}),
            "bench",
            "compare",
            "FILE",
            "FILE",
        ),
    ),
    Attack(
        "baseline-nested",
        2,
        ["b.json"],
        text_file(
            "b.json", '{"records": ' + "[" * DEEP, "bench", "MODEL", "--board", BOARD, "--compare", "FILE"
        ),
    ),
    Attack(
        "duty-result-nested",
        2,
        ["b.json"],
        text_file(
            "b.json",
            "[" * DEEP,
            "duty",
            "--period",
            "1",
            "--active-mw",
            "5",
            "--sleep-uw",
            "1",
            "--bench",
            "FILE",
        ),
    ),
    Attack("duty-times-not-finite", 2, ["t.csv"], duty("t.csv", "time_s\n0\nnan\ninf\n", "--trace")),
    Attack("duty-clock-jumps-back", 2, ["ascending"], duty("t.csv", "time_s\n100\n5\n-1e300\n", "--trace")),
    Attack(
        "duty-clock-jumps-far",
        2,
        ["1.5e+308"],
        duty("t.csv", "time_s\n0\n1\n1e308\n", "--trace", "--simulate"),
    ),
    Attack(
        "duty-field-of-200-kilobytes",
        2,
        ["t.csv"],
        duty("t.csv", "time_s\n" + '"' + "1" * 200_000 + '"\n', "--trace"),
    ),
    Attack("duty-terminal-codes", 2, ["t.csv"], duty("t.csv", "0\n\x1b]0;owned\x07\n", "--trace")),
    Attack("duty-zero-bytes", 2, ["t.csv"], duty("t.csv", "0\n1\0\0\n2\n", "--trace")),
    Attack(
        "energy-clock-jumps-back",
        2,
        ["trace.csv"],
        energy_csv("time_s,current_a,voltage_v\n0,1,1\n5,1,1\n2,1,1\n-9,1,1\n"),
    ),
    Attack(
        "energy-not-finite",
        2,
        ["trace.csv"],
        energy_csv("time_s,current_a,voltage_v\n0,nan,1\n1,inf,1\n2,1e308,1e308\n"),
    ),
    Attack(
        "energy-a-field-without-end", 2, ["trace.csv"], energy_csv('time_s,current_a\n0,"' + "1," * 200_000)
    ),
    Attack("energy-no-data", 2, ["trace.csv"], energy_csv("time_s,current_a,voltage_v\n" + "\n" * 100_000)),
    Attack(
        "store-is-no-database",
        2,
        ["hostile.sqlite"],
        text_file("hostile.sqlite", "SQLite format 3\0" + "A" * 5000, "bench", "history", "--store", "FILE"),
    ),
    Attack(
        "store-with-a-view-without-end",
        2,
        ["hostile.sqlite"],
        store(
            "PRAGMA application_id = 1095910734; PRAGMA user_version = 1; CREATE VIEW runs AS "
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n;"
        ),
    ),
    Attack(
        "store-with-a-trigger",
        2,
        ["hostile.sqlite"],
        store("CREATE TABLE runs (id); CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END;"),
    ),
    Attack(
        "store-of-another-program",
        2,
        ["hostile.sqlite"],
        store("PRAGMA application_id = 7; CREATE TABLE runs (id);"),
    ),
    Attack("project-folder-with-a-link", 2, ["project"], project_with_a_link),
    Attack("project-that-lists-a-link", 2, ["project"], project_that_lists_a_link),
    Attack(
        "manifest-nested",
        2,
        ["arenite.json"],
        text_file(
            "arenite.json", '{"files": ' + "[" * DEEP, "firmware", "MODEL", "--board", BOARD, "-o", "."
        ),
    ),
    Attack(
        "labels-of-200-megabytes",
        2,
        ["labels"],
        lambda work: _sparse(
            work,
            "labels.txt",
            200 << 20,
            "camera",
            "--source",
            "synthetic",
            "--model",
            "MODEL",
            "--frames",
            "2",
            "--labels",
            "FILE",
        ),
    ),
    Attack(
        "environment-cache-is-a-file",
        3,
        ["ARENITE_CACHE"],
        lambda work: Prepared(["zoo", "fetch", "kws_directions"], {"ARENITE_CACHE": str(model(work))}),
    ),
    Attack(
        "environment-store-is-a-device",
        2,
        ["/dev/full"],
        lambda work: Prepared(["bench", "history"], {"ARENITE_STORE": "/dev/full"}),
    ),
]


def _sparse(work: Path, name: str, size: int, *arguments: object) -> list[object]:
    """Write a file of ``size`` zeros that takes no room on the disk."""
    with (work / name).open("wb") as file:
        os.truncate(file.fileno(), size)
    return [work / name if a == "FILE" else model(work) if a == "MODEL" else a for a in arguments]
