"""Write quantized models as ONNX files, for comparisons with ONNX Runtime."""
