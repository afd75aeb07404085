"""The examples of docs/processing.md are valid, and its tables name every step."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.image.plan import source_plan
from arenite.converters.processing.post import postprocessing as steps_post
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification import audio_steps as steps
from arenite.converters.processing.specification import preprocessing as spec
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import CONVENTIONS, FORMATS
from arenite.converters.processing.specification.preprocessing import Preprocessing

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "processing.md").read_text("utf-8")


def test_the_examples_are_valid() -> None:
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)]
    assert len(blocks) == 5
    for block in blocks:
        if "postprocessing" in block:
            Postprocessing.from_json(block["postprocessing"])
            continue
        preprocessing = Preprocessing.from_json(block["preprocessing"])
        if isinstance(preprocessing.source, AudioSource):
            plan = plan_audio(preprocessing)
            assert (plan.frames, plan.features) == (49, 10)
        else:
            assert source_plan(preprocessing, 3, 96, 96).channels == 3


def test_the_page_names_every_step_and_convention() -> None:
    for kind in (*spec._IMAGE, *steps.STEPS, *spec._LAST, *steps_post.STEP_CLASSES.values()):
        assert f"`{kind.do}`" in TEXT  # type: ignore[attr-defined]
    for name in (*CONVENTIONS, *FORMATS):
        assert f"`{name}`" in TEXT
