"""Compares classical models with emlearn: flash, instructions on a Cortex-M4F, and answers."""
