"""The error of each layer, and the loss from quantizing each layer alone."""
