"""Convert pictures to tensors: plans, resampling, tables of the vector code and the NumPy reference."""
