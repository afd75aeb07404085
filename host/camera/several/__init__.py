"""Several cameras and several models: frame sets, cascades, model variants, memory pools."""
