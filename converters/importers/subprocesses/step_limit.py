"""The limit of unrolled recurrent layers. Arenite and the frameworks' processes both use this module."""

#: Arenite makes a loop of equal steps later, but does not read loops over a subgraph, so recurrent layers are unrolled.
#: Layers with more time steps than this are refused, because the conversion would take very long.
MAX_UNROLLED_STEPS = 128
