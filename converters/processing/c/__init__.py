"""The C sources that convert pixels and samples to input tensors, and output tensors to answers, on host and
device."""
