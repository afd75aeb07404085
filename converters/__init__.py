"""Trained models to images: importers, graph passes, quantization, planning and processing."""
