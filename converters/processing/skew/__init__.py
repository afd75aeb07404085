"""Compare the recorded preprocessing with the libraries that training pipelines use."""
