"""Contains one uploader per file, each for one tool or bootloader."""
