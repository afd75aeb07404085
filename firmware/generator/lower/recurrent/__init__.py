"""Lowerings of LSTM, SVDF and resource variables."""
