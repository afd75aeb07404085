"""A program that runs the firmware of an emulated board in Unicorn. It has its own license and its own process: see
machine.py, which no other module imports."""
