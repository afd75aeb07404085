"""The limit of unrolled recurrent layers. Arenite and the frameworks' processes both use this module."""

#: Arenite makes a loop of equal steps later, but does not read the loops of frameworks, so recurrent layers are
#: unrolled. Layers with more time steps than this are refused: time and memory of the conversion grow with the steps.
MAX_UNROLLED_STEPS = 2000
