"""Convert trained models to images (TFLite files with a memory plan): importers, graph passes, quantization, planning
of the arena, and pre- and postprocessing."""
