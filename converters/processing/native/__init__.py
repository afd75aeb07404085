"""The C code of pre- and postprocessing on this computer: building, loading, and its structs."""
