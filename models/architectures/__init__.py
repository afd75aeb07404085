"""The built-in network architectures. An architecture is a function that returns a ``Network`` for an input shape, a
number of classes and a width (a factor on the number of channels)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from arenite.errors import UsageError
from arenite.models.architectures.autoencoder import autoencoder
from arenite.models.architectures.detector import detector
from arenite.models.architectures.dscnn import dscnn
from arenite.models.architectures.mobilenet_v1 import mobilenet_v1
from arenite.models.architectures.mobilenet_v2 import mobilenet_v2
from arenite.models.architectures.network import Network
from arenite.models.architectures.resnet8 import resnet8

ARCHITECTURES: dict[str, Callable[[Sequence[int], int, float], Network]] = {
    "dscnn": dscnn,
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "resnet8": resnet8,
    "autoencoder": autoencoder,
    "detector": detector,
}

#: The smallest and the largest width. Wider networks fit no microcontroller, and narrower networks do not learn.
WIDTH_LIMITS = (0.05, 4.0)


def network(name: str, shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network of the architecture ``name``.

    ``shape`` is the input's shape without the batch, ``classes`` the number of classes. ``width`` is a factor on the
    number of channels. Raises ``UsageError`` for an unknown name, a width out of range, or a shape that the
    architecture does not support.
    """
    if name not in ARCHITECTURES:
        close_names = difflib.get_close_matches(name, ARCHITECTURES, 1)
        raise UsageError(
            f"There is no architecture '{name}'.",
            f"Did you mean {close_names[0]}?" if close_names else f"Give one of {', '.join(ARCHITECTURES)}.",
        )
    if not WIDTH_LIMITS[0] <= width <= WIDTH_LIMITS[1]:
        raise UsageError(
            f"A width of {width:g} is outside {WIDTH_LIMITS[0]:g} to {WIDTH_LIMITS[1]:g}.",
            "Width 1 is the full network, and 0.5 has half its channels.",
        )
    return ARCHITECTURES[name](shape, classes, width)
