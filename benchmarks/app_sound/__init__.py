"""Hours of composed speech, heard by an application on an emulated board: ``python -m benchmarks.app_sound``."""
