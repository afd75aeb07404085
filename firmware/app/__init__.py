"""Write an application: firmware in which a sensor, a model and its decisions run by themselves."""
