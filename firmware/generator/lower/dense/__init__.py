"""Lowerings of FULLY_CONNECTED and BATCH_MATMUL."""
