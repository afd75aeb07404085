"""The limit of unrolled recurrent layers. Arenite and the frameworks' processes both use this module."""

#: The importers do not support the loop operators of the frameworks, so a recurrent layer is imported unrolled, with
#: one copy of its operators for each time step. After the import, a graph pass (docs/passes.md) replaces the equal
#: copies by a loop. Layers with more time steps than this are refused: time and memory of the conversion grow with the
#: steps.
MAX_UNROLLED_STEPS = 2000
