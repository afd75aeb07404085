"""The model zoo: a manifest of trained models and their download, data sets, and the training of small networks."""
