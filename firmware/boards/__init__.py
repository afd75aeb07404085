"""Describe cores, toolchains, board families and linker scripts. The folders also contain the C sources of start-up
code, ports and the serial agent (the part of the firmware that runs the model over a serial port)."""
