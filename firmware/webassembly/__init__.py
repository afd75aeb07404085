"""Generated models as a WebAssembly module: its exported functions and its memory."""
