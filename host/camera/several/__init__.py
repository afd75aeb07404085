"""Serve several cameras or use several models: sets of frames, cascades, model variants, memory pools."""
