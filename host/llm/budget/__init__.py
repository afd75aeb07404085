"""Keep a language model within a budget of power, temperature and memory, with the governor of the camera loop."""
