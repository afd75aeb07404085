"""The kernels, in C."""
