"""The examples of docs/processing.md are valid, and its tables name every step."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from arenite.converters.processing.audio.front_end import is_micro, plan_sound
from arenite.converters.processing.image.plan import source_plan
from arenite.converters.processing.imu.plan import plan_imu
from arenite.converters.processing.post import postprocessing
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification import audio_steps, imu_steps, preprocessing
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import CONVENTIONS, FORMATS
from arenite.converters.processing.specification.imu_steps import STATISTICS, ImuSource
from arenite.converters.processing.specification.preprocessing import Preprocessing

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "processing.md").read_text("utf-8")


def test_the_examples_are_valid() -> None:
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    assert len(blocks) == 7
    for block in blocks:
        if "postprocessing" in block:
            Postprocessing.from_json(block["postprocessing"])
            continue
        description = Preprocessing.from_json(block["preprocessing"])
        if isinstance(description.source, AudioSource):
            plan = plan_sound(description)
            assert (plan.frames, plan.features) == (49, 40 if is_micro(description) else 10)
        elif isinstance(description.source, ImuSource):
            assert plan_imu(description).shape == (3, 8)
        else:
            assert source_plan(description, 3, 96, 96).channels == 3


def test_the_page_names_every_step_and_convention() -> None:
    for kind in (
        *preprocessing._IMAGE_STEPS,
        *audio_steps.STEPS,
        *preprocessing._FINAL_STEPS,
        *postprocessing.STEP_CLASSES.values(),
    ):
        assert f"`{kind.do}`" in PAGE  # type: ignore[attr-defined]
    for name in (*CONVENTIONS, *FORMATS, *STATISTICS, *(k.do for k in imu_steps.STEPS)):  # type: ignore[attr-defined]
        assert f"`{name}`" in PAGE
