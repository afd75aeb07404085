"""The limit of unrolled recurrent layers. Arenite and the frameworks' processes both use this module."""

#: Arenite's firmware runs the operators of the main graph, not loops over a subgraph, so recurrent layers are unrolled.
#: Layers with more time steps than this are refused.
MAX_UNROLLED_STEPS = 128
