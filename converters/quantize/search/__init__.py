"""Search for a quantization recipe that meets a budget of memory, instructions and accuracy."""
