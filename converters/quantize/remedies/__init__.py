"""Find the cheapest recipe whose loss is below a limit: better int8 recipes, int16 in some layers, int16 in all."""
