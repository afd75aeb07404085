"""Sinks, which receive served frames: files of JSON lines, callbacks and MQTT."""
