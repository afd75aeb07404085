"""Read and check preprocessing, postprocessing, decision, labels and anomaly head of a model. The image (the converted
model) records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.converters.anomaly.head import KEY as ANOMALY_KEY
from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.anomaly.plan import plan_anomaly
from arenite.converters.decision.plan import plan_decision, plan_gate
from arenite.converters.decision.record import GATE_KEY, Decision, Gate
from arenite.converters.decision.record import KEY as DECISION_KEY
from arenite.converters.graph.model import Model, Tensor
from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.image.plan import plan_image
from arenite.converters.processing.imu.plan import plan_imu
from arenite.converters.processing.post.plan import plan_post
from arenite.converters.processing.post.postprocessing import KEY as POST_KEY
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.image_steps import Crop, ImageSource
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing
from arenite.errors import UsageError
from arenite.input_files import read_text

#: Keys of the image's metadata ``extra``.
LABELS, MADE_FROM = "labels", "made_from"


@dataclass(frozen=True)
class Attachments:
    """Preprocessing, postprocessing, labels, decision, gate and anomaly head of a model. A part that the user did not
    give is None or ()."""

    preprocessing: Preprocessing | None = None
    postprocessing: Postprocessing | None = None
    labels: tuple[str, ...] = ()
    decision: Decision | None = None
    gate: Gate | None = None
    anomaly: AnomalyHead | None = None

    def extra(
        self, model: Model, made_from: Mapping[str, Any], known: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the metadata ``extra`` of the image.

        ``made_from`` describes the source of the model. ``known`` is the ``extra`` of the image that the user gave. Its
        entries stay, but the parts that are not None or () replace them. Raises ``UsageError`` if one of these parts
        does not match ``model``.
        """
        entries = dict(known or {})
        entries.setdefault(MADE_FROM, dict(made_from))
        if self.preprocessing is not None:
            self.check_preprocessing(model)
            entries[KEY] = self.preprocessing.bound(model.main.tensors[model.main.inputs[0]]).to_json()
        if self.postprocessing is not None:
            graph = model.main
            inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
            plan_post(self.postprocessing, inputs, outputs)
            entries[POST_KEY] = self.postprocessing.to_json()
        if self.labels:
            self.check_labels(model)
            entries[LABELS] = list(self.labels)
        if self.anomaly is not None:
            graph = model.main
            inputs, outputs = ([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs))
            plan_anomaly(self.anomaly, inputs, outputs)
            entries[ANOMALY_KEY] = self.anomaly.to_json()
        self._add_decision(model, entries)
        return entries

    def _add_decision(self, model: Model, entries: dict[str, Any]) -> None:
        """Add the decision and the gate to ``entries``, which has preprocessing and labels already."""
        rate = 0 if self.decision is None and self.gate is None else sample_rate(entries)
        if self.decision is not None:
            outputs = [model.main.tensors[i] for i in model.main.outputs]
            plan_decision(self.decision, outputs, recorded_labels(entries), rate)
            entries[DECISION_KEY] = self.decision.to_json()
        if self.gate is not None:
            plan_gate(self.gate, rate)
            entries[GATE_KEY] = self.gate.to_json()

    def fill_from_image(self, extra: Mapping[str, Any]) -> Attachments:
        """Return these attachments. Missing preprocessing and labels are taken from an image's metadata ``extra``."""
        return replace(
            self,
            preprocessing=self.preprocessing or recorded_preprocessing(extra),
            labels=self.labels or recorded_labels(extra),
        )

    def check_preprocessing(self, model: Model) -> None:
        """Check that the preprocessing fills the model's first input. Raises ``UsageError``."""
        if self.preprocessing is not None:
            tensor = model.main.tensors[model.main.inputs[0]]
            _check_size(self.preprocessing.bound(tensor), tensor)

    def check_labels(self, model: Model) -> None:
        """Check that the number of labels equals the number of values (last dimension) of an output. Raises
        ``UsageError``.

        If a model has several outputs, such as a detector, one of these outputs is for the classes.
        """
        values = [(model.main.tensors[i].shape or (1,))[-1] for i in model.main.outputs]
        if self.labels and len(self.labels) not in values:
            raise UsageError(
                f"There are {len(self.labels)} labels; the model's output has {' or '.join(map(str, values))} values.",
                "Write one label per line, in the order of the output.",
            )


def _check_size(spec: Preprocessing, tensor: Tensor) -> None:
    """Check that ``spec`` yields as many values as ``tensor`` holds. Raises ``UsageError``.

    If the source of ``spec`` has no size, the picture is assumed to be as large as the model's input, or as large as
    the crop steps require.
    """
    source = spec.source
    if isinstance(source, ImageSource):
        shape = (*tensor.shape, 1) if len(tensor.shape) == 3 and tensor.shape[0] == 1 else tensor.shape
        if not source.width and len(shape) < 3:
            return  # the size is not known before a file is read
        height, width = shape[-3:-1] if len(shape) >= 3 else (0, 0)
        crops = [step for step in spec.steps if isinstance(step, Crop)]
        width = source.width or max(width, *(c.width + max(c.x, 0) for c in crops), 0)
        height = source.height or max(height, *(c.height + max(c.y, 0) for c in crops), 0)
        plan = plan_image(spec, source.format, width, height)
        size = (plan.canvas[1], plan.canvas[0], plan.channels)
    elif isinstance(source, ImuSource):
        size = (*plan_imu(spec).shape, 1)
    else:
        sound = plan_sound(spec)
        size = (sound.frames, sound.features, 1)
    if size[0] * size[1] * size[2] != tensor.elements:
        raise UsageError(
            f"Preprocessing yields {'x'.join(map(str, size))} values, but the model's input '{tensor.name}' has "
            f"{'x'.join(map(str, tensor.shape))}.",
            "Change the sizes in the preprocessing's steps.",
        )


def recorded_preprocessing(extra: Mapping[str, Any]) -> Preprocessing | None:
    """Return the preprocessing that an image records, or None. Raises ``UsageError`` when it is damaged."""
    return None if KEY not in extra else Preprocessing.from_json(extra[KEY], "The image's preprocessing")


def recorded_labels(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that an image records, or ()."""
    known = extra.get(LABELS)
    return tuple(map(str, known)) if isinstance(known, list) else ()


def sample_rate(extra: Mapping[str, Any]) -> int:
    """Return the samples per second of the sound or motion that an image's preprocessing takes, or 0 if it takes none,
    or if the rate is not a whole number."""
    spec = recorded_preprocessing(extra)
    if spec is None or not isinstance(spec.source, (AudioSource, ImuSource)):
        return 0
    return int(spec.source.rate) if spec.source.rate == int(spec.source.rate) else 0


def audio_rate(extra: Mapping[str, Any]) -> int:
    """Return the samples per second of the sound that an image's preprocessing takes, or 0 if it takes none."""
    spec = recorded_preprocessing(extra)
    return spec.source.rate if spec is not None and isinstance(spec.source, AudioSource) else 0


def read_labels(path: Path) -> tuple[str, ...]:
    """Read labels from a text file with one label per line. Raises ``UsageError``."""
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"Cannot read the labels {path}: {error}.", "Give a text file with one label per line."
        ) from error
    labels = tuple(line.strip() for line in lines if line.strip())
    if not labels:
        raise UsageError(f"{path} has no labels.", "Write one label per line.")
    return labels
