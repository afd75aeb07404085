"""One lowering per operator; importing this package registers them all."""

from __future__ import annotations

import importlib
import pkgutil

from arenite.firmware.generator.lower.base import LOWERINGS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["LOWERINGS"]
