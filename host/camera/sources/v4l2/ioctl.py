"""The system call ioctl. On Windows, which has no Video4Linux, it fails as for a device that does not exist, so the
modules that use it can be imported everywhere."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

if sys.platform == "win32":

    def ioctl(device: int, request: int, argument: Any = 0, change: bool = True) -> int:
        """Raise ``OSError``."""
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

else:
    from fcntl import ioctl

__all__ = ["ioctl"]
