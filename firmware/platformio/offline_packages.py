"""Let PlatformIO build without a network: write the package that ``pio run`` would otherwise download first.

PlatformIO runs its builds with a package called ``tool-scons``. SCons is on PyPI, so the package is written as a
three-line script that calls the SCons of this Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_FALLBACK_VERSION = "4.41101.0"  # the version that PlatformIO 6.2.0 requires

_SCONS = """\
import sys
from SCons.Script.Main import main
sys.exit(main())
"""


def scons_version() -> str:
    """Return the version of ``tool-scons`` that the installed PlatformIO requires."""
    try:
        from platformio.dependencies import get_core_dependencies
    except ImportError:
        return _FALLBACK_VERSION
    match = re.search(r"\d+(\.\d+)*", get_core_dependencies()["tool-scons"])
    return match.group() if match else _FALLBACK_VERSION


def offline_package_files() -> Mapping[str, str]:
    """Return the text of each file of the package by its path below PlatformIO's core directory."""
    version = scons_version()
    package = {"name": "tool-scons", "version": version, "description": "The SCons of this Python"}
    installed = {
        "type": "tool",
        "name": "tool-scons",
        "version": version,
        # the identifier of tool-scons in PlatformIO's registry
        "spec": {"owner": "platformio", "id": 8192, "name": "tool-scons", "requirements": None, "uri": None},
    }
    folder = "packages/tool-scons"
    return {
        f"{folder}/package.json": json.dumps(package, indent=2) + "\n",
        f"{folder}/.piopm": json.dumps(installed, indent=2) + "\n",
        f"{folder}/scons.py": _SCONS,
    }
