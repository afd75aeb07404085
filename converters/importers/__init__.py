"""Importers of trained models: TensorFlow Lite, Keras, SavedModel, ONNX and PyTorch."""
