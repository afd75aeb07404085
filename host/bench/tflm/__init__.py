"""Compares images with stock TensorFlow Lite Micro."""
