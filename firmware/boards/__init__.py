"""Cores, families of boards and linker scripts, and the C of start-up, ports and the serial agent."""
