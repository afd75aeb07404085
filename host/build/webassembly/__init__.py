"""Build prepared models as a WebAssembly module with the C compiler of the package ziglang."""
