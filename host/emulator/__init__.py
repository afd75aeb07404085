"""QEMU: starts emulated boards, counts instructions and memory accesses, and estimates cycles."""
