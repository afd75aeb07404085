"""Start emulated boards in QEMU, count their instructions and memory accesses, and estimate cycles."""
