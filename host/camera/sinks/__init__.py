"""Sinks of served frames: files of JSON lines, callbacks, MQTT."""
