"""The C sources that turn pixels and samples into tensors and outputs into answers, on host and device alike."""
