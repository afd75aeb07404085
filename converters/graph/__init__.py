"""The graph as small value types, with shape rules and quantized arithmetic."""
