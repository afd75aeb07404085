"""Generate the files with which PlatformIO and Zephyr build a project."""
