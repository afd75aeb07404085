"""Search over quantization recipes for the one that meets a budget of memory, instructions and accuracy."""
