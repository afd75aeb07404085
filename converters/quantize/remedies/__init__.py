"""Find the cheapest recipe whose loss is below a limit: int8 with better rounding, biases or calibrators,
int16 in some layers, or int16 in all layers."""
