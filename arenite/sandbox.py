"""Run programs that read files of unknown origin without network, with a read-only file system and limited memory.

bubblewrap (``bwrap``) isolates best. Where it is missing or not permitted, ``unshare`` takes away the network. Where
that is not permitted either, only the limits of ``sandbox_limits`` apply.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

#: The share of the computer's memory that a sandboxed process may take.
MEMORY_SHARE = 0.75


def sandbox_command(command: Sequence[str], writable: Path) -> list[str]:
    """Return the command that runs ``command`` in the best sandbox of this computer.

    With bubblewrap the command can write below ``writable`` only; ``TMPDIR`` must be a folder there.
    ``ARENITE_SANDBOX=off`` returns ``command`` unchanged.
    """
    kind = sandbox_kind()
    if kind == "bwrap":
        folder = str(writable.absolute())
        return ["bwrap", *_BWRAP, "--bind", folder, folder, "--chdir", os.getcwd(), "--", *command]
    if kind == "unshare":
        return [*_UNSHARE, *command]
    return list(command)


def sandbox_kind() -> str:
    """Return "bwrap", "unshare", or "none" if this computer permits neither."""
    return "none" if os.environ.get("ARENITE_SANDBOX") == "off" else _permitted()


@cache
def _permitted() -> str:
    """Return the kind of sandbox that works on this computer, found by running the program ``true`` in it."""
    if sys.platform == "linux":
        for name, command in (("bwrap", ["bwrap", *_BWRAP]), ("unshare", list(_UNSHARE))):
            if shutil.which(name) is None:
                continue
            try:
                if subprocess.run([*command, "true"], capture_output=True, timeout=20).returncode == 0:
                    return name
            except (OSError, subprocess.TimeoutExpired):
                continue
    return "none"


def sandbox_limits() -> Mapping[int, int]:
    """Return the limits for ``arenite.processes.Child``: a share of the memory, and no core files. On
    Windows, the mapping is empty."""
    if sys.platform == "win32":
        return {}
    import resource

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        resource.RLIMIT_DATA: int(MEMORY_SHARE * memory),
        resource.RLIMIT_CORE: 0,
    }


_BWRAP = (
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--unshare-ipc",
    "--die-with-parent",
)  # fmt: skip
_UNSHARE = ("unshare", "--user", "--map-current-user", "--net", "--")
