"""The TensorFlow Lite file format: reader, verifier, writer, and the image with its metadata."""
