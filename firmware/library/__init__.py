"""Generate C libraries of one or more models, with their pre- and postprocessing."""
