"""Energy of boards and of this computer: meters, sensors, estimates."""
