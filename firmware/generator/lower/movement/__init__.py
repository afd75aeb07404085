"""Lowerings of operators that move elements without arithmetic, and of resizing."""
