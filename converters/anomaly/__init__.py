"""The anomaly head: it learns on the device which outputs of a model are normal, and classes from a few examples."""
