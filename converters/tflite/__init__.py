"""Read, verify and write files in the TensorFlow Lite format, and images: TensorFlow Lite files with a memory plan in
their metadata."""
