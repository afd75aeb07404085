"""Lowerings: each turns one TFLite operator into a kernel call. Importing this package registers all lowerings."""

from __future__ import annotations

import importlib
import pkgutil

from arenite.firmware.generator.lower.core.lowering import LOWERINGS

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

__all__ = ["LOWERINGS"]
