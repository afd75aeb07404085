"""Read the outline of a source without its framework: inputs, outputs, layers and the number of weights."""
