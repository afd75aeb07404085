"""Find and read the C sources of firmware by base name."""

from __future__ import annotations

from pathlib import Path

from arenite.c_sources import SourceTree

#: The C code of the FFT and the channels of sound, which kernels and preprocessing share.
SHARED = Path(__file__).parents[1] / "converters" / "processing" / "c" / "audio" / "signal"
#: Kernels and the headers that they share.
ENGINE = SourceTree(Path(__file__).parent / "engine", SHARED)
#: Start-up code, ports and the serial agent.
BOARDS = SourceTree(Path(__file__).parent / "boards")
#: The store that keeps state in flash through power cuts, and its flash drivers.
STATE_STORE = SourceTree(Path(__file__).parent / "state_store")
#: The check of update images. It reads flash memory through the interface of the state store.
UPDATE = SourceTree(Path(__file__).parent / "update", Path(__file__).parent / "state_store")
#: The agent of a fleet.
AGENT = SourceTree(Path(__file__).parent / "agent")
#: The sensors, serial ports and loops of applications.
APP = SourceTree(Path(__file__).parent / "app" / "c")
