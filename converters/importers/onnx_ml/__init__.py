"""Import classical models from ONNX files: tree ensembles, linear models and perceptrons, with their scalers."""
