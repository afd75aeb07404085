"""The graph of a model as small immutable classes, with rules for output shapes and TFLite's quantized arithmetic."""
