"""``arenite bench --board chromium``, ``firefox`` and ``webkit``: a model's modules in a browser without a window."""
