"""Describe cores, board families and linker scripts. The folders hold the C of start-up, ports and serial agent."""
