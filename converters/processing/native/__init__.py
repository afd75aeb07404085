"""The C code of pre- and postprocessing on the host: build and load the library, and fill its structs."""
