"""The live view as a web page, served on this computer."""
