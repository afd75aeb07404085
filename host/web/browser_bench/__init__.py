"""``arenite bench --board chromium`` and ``firefox``: run a model's modules in a browser without a window."""
