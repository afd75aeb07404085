"""Compare int8 models of Arenite with those of TensorFlow's TFLiteConverter, on the same networks and samples."""
