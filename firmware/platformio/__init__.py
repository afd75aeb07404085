"""Files with which PlatformIO and Zephyr build a project."""
