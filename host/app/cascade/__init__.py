"""Applications in which a small model wakes a large one."""
