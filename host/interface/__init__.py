"""Contains the Python interface: the functions of ``import arenite``, with the names and options of the command
line."""
