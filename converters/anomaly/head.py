"""The settings of the anomaly head: the record ``anomaly`` of a model image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arenite.converters.processing.specification.preprocessing import read_record
from arenite.converters.processing.specification.record_fields import (
    build_record,
    check_one_of,
    check_within,
    record_of,
)
from arenite.errors import UsageError

SCHEMA = "arenite.anomaly/1"
#: The key of the record in ``extra`` of a model image.
KEY = "anomaly"

#: The memory is a power of two between these limits. With a longer memory, the rounding of a mean would reach a tenth
#: of a unit of the embedding.
MIN_MEMORY, MAX_MEMORY = 16, 4096
MAX_CLASSES = 64
MAX_RANK = 16
HINT = "See docs/anomaly.md for the fields."


@dataclass(frozen=True)
class AnomalyHead:
    """Settings of the anomaly head.

    ``output`` is the number of the model's output that is the embedding. With ``input``, the model is an autoencoder,
    and the embedding is the difference between this output and that input. ``warmup`` embeddings are learned before the
    first alarm. Embeddings are forgotten exponentially after ``memory`` embeddings (a power of two). The threshold is
    ``sigmas`` standard deviations above the mean of the scores' logarithms. ``floor`` is added to each variance, in
    squared units of the int8 embedding. ``learn`` is "normal", or "all" to learn also from embeddings that raise an
    alarm.

    ``rank`` is the number of directions of a low-rank covariance; 0 for a diagonal one.

    ``classes`` is the number of classes that can be taught. ``max_distance`` is the largest distance to a class: the
    mean squared difference, in squared units of the int8 embedding; None for no limit.

    The other fields are for applications. ``hop`` is the number of samples from one inference to the next; 0 if the
    decision has it. An event starts or ends after ``minimum`` windows in a row. The state is saved every
    ``save_minutes`` minutes.
    """

    output: int = 0
    input: int | None = None
    warmup: int = 256
    memory: int = 1024
    sigmas: float = 4.0
    floor: float = 0.25
    learn: str = "normal"
    rank: int = 0
    classes: int = 0
    max_distance: float | None = None
    hop: int = 0
    minimum: int = 1
    save_minutes: float = 60.0

    def __post_init__(self) -> None:
        check_within(self.output, 0, 255, "Anomaly: output")
        check_within(self.input or 0, 0, 255, "Anomaly: input")
        check_within(self.memory, MIN_MEMORY, MAX_MEMORY, "Anomaly: memory")
        if self.memory & (self.memory - 1):
            raise UsageError(
                f"Anomaly: memory is {self.memory}, expected a power of two from {MIN_MEMORY} to {MAX_MEMORY:,}.",
                HINT,
            )
        check_within(self.warmup, 2, self.memory, "Anomaly: warmup")
        check_within(self.sigmas, 0.5, 16, "Anomaly: sigmas")
        check_within(self.floor, 0.001, 1000, "Anomaly: floor")
        check_one_of(self.learn, ("normal", "all"), "Anomaly: learn")
        check_within(self.rank, 0, MAX_RANK, "Anomaly: rank")
        check_within(self.hop, 0, 1 << 24, "Anomaly: hop")
        check_within(self.minimum, 1, 1000, "Anomaly: minimum")
        check_within(self.save_minutes, 0.01, 100_000, "Anomaly: save_minutes")
        check_within(self.classes, 0, MAX_CLASSES, "Anomaly: classes")
        if self.max_distance is not None:
            check_within(self.max_distance, 0.001, 65535, "Anomaly: max_distance")
        if self.input is not None and self.classes:
            raise UsageError(
                "Anomaly: classes cannot be taught from the difference of an autoencoder.",
                "Remove input, or classes.",
            )

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **record_of(self)}

    @staticmethod
    def from_json(record: Any, location: str = "Anomaly head") -> AnomalyHead:
        """Read a record that ``to_json`` returned or a user wrote. Raises ``UsageError`` with the name of the wrong
        field."""
        if not isinstance(record, dict):
            raise UsageError(f"{location} is {str(record)[:60]!r}, expected a table of fields.", HINT)
        fields = dict(record)
        schema = fields.pop("schema", SCHEMA)
        if schema != SCHEMA:
            raise UsageError(
                f"{location}: schema is {str(schema)[:60]!r}, expected {SCHEMA}.",
                "Use a newer version of Arenite.",
            )
        return build_record(AnomalyHead, fields, location)


def load_anomaly_head(path: str | Path) -> AnomalyHead:
    """Read the settings from a TOML or JSON file, which contains only the fields, or has them under the key
    ``anomaly``. Raises ``UsageError`` if the file cannot be read or a field is wrong."""
    record = read_record(path)
    return AnomalyHead.from_json(record.get(KEY, record) if isinstance(record, dict) else record, str(path))
