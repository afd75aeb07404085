"""Run firmware on the RTL of a processor core, simulated by Verilator, and measure its cycles."""
