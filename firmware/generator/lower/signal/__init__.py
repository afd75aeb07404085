"""Lowerings of TensorFlow Lite Micro's signal operators."""
