"""The Python interface: what ``import arenite`` offers, in the words of the command line."""
