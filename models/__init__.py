"""The zoo: a manifest of trained models, their download, data sets, and the training of small networks."""
