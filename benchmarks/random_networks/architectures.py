"""Draw network architectures at random. A network is a list of blocks, which the children build in their framework."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.random_networks.activations import ACTIVATIONS, SATURATING

#: One block of a network: its kind and its settings.
Block = Mapping[str, Any]

#: The kind of each network of a framework, for every 20 networks.
KINDS = (
    *("convolution",) * 5,
    *("attention",) * 3,
    *("recurrent",) * 4,
    *("u-net",) * 2,
    *("several inputs",) * 2,
    *("several outputs",) * 2,
    "dense",
    "regression",
)


@dataclass(frozen=True)
class Network:
    """The description of a network.

    ``task`` is the name of a data set in ``tasks.py``. ``trunks`` has the blocks of each input; if there are several
    inputs, their features are concatenated before ``head``. ``activations`` has the names of all activation functions,
    ``outputs`` "classes", "class map" or "values" for each output.
    """

    number: int
    framework: str
    kind: str
    task: str
    activations: tuple[str, ...]
    trunks: tuple[tuple[Block, ...], ...]
    head: tuple[Block, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.number:02d}-{self.framework}-{self.kind.replace(' ', '-')}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "name": self.name}


def draw_networks(count: int, seed: int) -> tuple[Network, ...]:
    """Return ``count`` networks, half of them of each framework. The same arguments give the same networks.

    Kinds and activations are dealt like cards, so that all of them occur if ``count`` is at least 40.
    """
    networks = []
    decks: dict[str, _Decks] = {name: _Decks(name, seed) for name in ACTIVATIONS}
    for number in range(count):
        framework = ("keras", "torch")[number % 2]
        deck = decks[framework]
        draw = random.Random(f"{seed} {number}")
        networks.append(_network(number, framework, deck.kind(), deck.activations(draw), draw))
    return tuple(networks)


class _Decks:
    """Kinds and activations of a framework in random order. A deck that is used up is shuffled again."""

    def __init__(self, framework: str, seed: int) -> None:
        self._draw = random.Random(f"{seed} {framework}")
        self._names = ACTIVATIONS[framework]
        self._kinds: list[str] = []
        self._activations: list[str] = []

    def kind(self) -> str:
        if not self._kinds:
            self._kinds = self._draw.sample(KINDS, len(KINDS))
        return self._kinds.pop()

    def activations(self, draw: random.Random) -> tuple[str, ...]:
        """Return two different activations, of which the first does not saturate."""
        if len(self._activations) < 2:
            rest = [a for a in self._names if a not in self._activations]
            self._activations = self._draw.sample(rest, len(rest)) + self._activations
        first, second = self._activations.pop(), self._activations.pop()
        if {first, second} <= SATURATING:
            return (draw.choice([a for a in self._names if a not in SATURATING]), first, second)
        return (second, first) if first in SATURATING else (first, second)


def _network(
    number: int, framework: str, kind: str, activations: tuple[str, ...], draw: random.Random
) -> Network:
    outputs: tuple[str, ...] = ("classes",)
    head = _head(draw, activations)
    trunks: tuple[tuple[Block, ...], ...]
    if kind == "attention":
        task = draw.choice(["sequences", "tokens"])
        trunks = (_attention(draw, activations, task),)
    elif kind == "recurrent":
        task = "sequences"
        trunks = (_recurrent(draw, activations),)
    elif kind == "u-net":
        task, outputs, head = "masks", ("class map",), ()
        trunks = (_u_net(draw, activations),)
    elif kind == "several inputs":
        task = "pairs"
        trunks = (_convolutions(draw, activations, 2), _dense(draw, activations, 1))
    elif kind == "several outputs":
        task, outputs = "scenes", ("classes", "values")
        trunks = (_convolutions(draw, activations, 3),)
    elif kind in ("dense", "regression"):
        task = "vectors" if kind == "dense" else "values"
        outputs = ("classes",) if kind == "dense" else ("values",)
        trunks = (_dense(draw, activations, draw.choice([2, 3])),)
    else:
        task = "pictures"
        trunks = (_convolutions(draw, activations, draw.choice([3, 4, 5])),)
    return Network(number, framework, kind, task, activations, trunks, head, outputs)


def _activation(draw: random.Random, activations: tuple[str, ...], position: int) -> str:
    """Return the activation of block ``position``. The first blocks have one of ``activations`` each, without the last
    one, which the head has. Further blocks have an activation that does not saturate."""
    if position < len(activations) - 1:
        return activations[position]
    return draw.choice([a for a in activations if a not in SATURATING] or ["linear"])


def _norm(draw: random.Random, activation: str) -> str:
    """Return the normalization before an activation. Activations that saturate need one to learn."""
    kinds = ["batch", "batch", "layer", "group"]
    return draw.choice(kinds if activation in SATURATING else [*kinds, "none", "none"])


def _convolutions(draw: random.Random, activations: tuple[str, ...], count: int) -> tuple[Block, ...]:
    """Return blocks on pictures that end with features of shape [features]."""
    kinds = ["conv", "depthwise", "residual", "inverted", "excite", "branches", "dilated", "grouped"]
    blocks: list[Block] = []
    for k in range(count):
        activation = _activation(draw, activations, k)
        blocks.append(
            {
                "kind": "conv" if k == 0 else draw.choice(kinds),
                "filters": draw.choice([8, 12, 16]),
                "kernel": draw.choice([1, 3, 3, 5]) if k else 3,
                "stride": draw.choice([1, 2]),
                "norm": _norm(draw, activation),
                "activation": activation,
            }
        )
        if k == 1:
            blocks.append({"kind": draw.choice(["max pool", "average pool", "padded max pool"])})
    blocks.append({"kind": draw.choice(["global average", "global max", "flatten"])})
    return tuple(blocks)


def _u_net(draw: random.Random, activations: tuple[str, ...]) -> tuple[Block, ...]:
    """Return the blocks of a U-Net: one "down" for each activation but the last, a convolution, and as many "up"."""
    levels = len(activations) - 1
    downs = [
        {
            "kind": "down",
            "filters": 8 * (k + 1),
            "norm": _norm(draw, activation),
            "activation": activation,
            "pool": draw.choice(["max", "average", "stride"]),
        }
        for k in range(levels)
        for activation in [_activation(draw, activations, k)]
    ]
    middle = activations[-1]
    return (
        *downs,
        {"kind": "conv", "filters": 16, "kernel": 3, "stride": 1, "norm": _norm(draw, middle),
         "activation": middle},
        *(
            {
                "kind": "up",
                "filters": d["filters"],
                "norm": _norm(draw, activations[0]),
                "activation": activations[0],
                "by": draw.choice(["transposed", "nearest", "bilinear"]),
                "merge": draw.choice(["concatenate", "add"]),
            }
            for d in reversed(downs)
        ),
        {"kind": "pixel classes"},
    )  # fmt: skip


def _attention(draw: random.Random, activations: tuple[str, ...], task: str) -> tuple[Block, ...]:
    """Return transformer blocks on a sequence of tokens or vectors, which end with features of shape [features]."""
    width = draw.choice([16, 24])
    first: Block = (
        {"kind": "embedding", "width": width} if task == "tokens" else {"kind": "project", "width": width}
    )
    blocks: list[Block] = [first]
    for k in range(max(draw.choice([1, 2]), len(activations) - 1)):
        blocks.append(
            {
                "kind": "transformer",
                "heads": draw.choice([1, 2, 4]),
                "hidden": 2 * width,
                "norm first": draw.random() < 0.5,
                "activation": _activation(draw, activations, k),
            }
        )
    return (*blocks, {"kind": draw.choice(["mean of steps", "max of steps", "last step"])})


def _recurrent(draw: random.Random, activations: tuple[str, ...]) -> tuple[Block, ...]:
    """Return recurrent layers on a sequence, which end with features of shape [features]."""
    blocks: list[Block] = []
    steps = {"kind": "conv steps", "filters": 12}
    activation = _activation(draw, activations, 0)
    blocks.append({**steps, "norm": _norm(draw, activation), "activation": activation})
    count = draw.choice([1, 1, 2])
    for _ in range(count):
        blocks.append(
            {
                "kind": draw.choice(["lstm", "gru", "gru reset before", "rnn"]),
                "units": draw.choice([8, 12, 16]),
                "both ways": draw.random() < 0.35,
            }
        )
    return (*blocks, {"kind": draw.choice(["mean of steps", "last step", "last step"])})


def _dense(draw: random.Random, activations: tuple[str, ...], count: int) -> tuple[Block, ...]:
    return tuple(
        {
            "kind": "dense",
            "units": draw.choice([24, 32, 48]),
            "norm": draw.choice(["batch", "layer", "none"]),
            "activation": _activation(draw, activations, k),
        }
        for k in range(count)
    )


def _head(draw: random.Random, activations: tuple[str, ...]) -> tuple[Block, ...]:
    """Return one dense layer with the last activation, which so occurs in every network with a head."""
    return (
        {
            "kind": "dense",
            "units": draw.choice([16, 24, 32]),
            "norm": "batch" if activations[-1] in SATURATING else "none",
            "activation": activations[-1],
        },
    )
