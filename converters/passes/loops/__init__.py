"""Find bodies that a graph repeats step by step, such as an unrolled recurrent layer, and run each as a loop."""
