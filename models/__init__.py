"""The zoo: a manifest of trained models, their download, data sets and small trainers."""
