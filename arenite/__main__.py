"""``python -m arenite``: the command line, where the program ``arenite`` is not on the path."""

from __future__ import annotations

from arenite.host.cli.main import run

if __name__ == "__main__":
    run()
