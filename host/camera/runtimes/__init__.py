"""Runtimes that run a model: LiteRT, the stock interpreter with delegates, ONNX Runtime."""
