"""Models in web pages: an ES module package with a WebAssembly module."""
