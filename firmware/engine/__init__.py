"""The kernels and the code that runs them, in C."""
