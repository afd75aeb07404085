"""Describe cores, board families and linker scripts. The folders
also contain the C sources of start-up code, ports and the serial agent."""
