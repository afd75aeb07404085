"""The file suffixes of videos and of pictures."""

from __future__ import annotations

VIDEO_SUFFIXES = (
    ".mp4",
    ".avi",
    ".mkv",
    ".mov",
    ".webm",
    ".m4v",
    ".mpg",
    ".mpeg",
    ".ts",
    ".y4m",
    ".mjpeg",
    ".mjpg",
    ".3gp",
)
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm", ".pgm", ".tif", ".tiff", ".gif")
