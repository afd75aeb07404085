"""Applications with a camera: generate them, play pictures to them, and compute their answers on this computer."""
