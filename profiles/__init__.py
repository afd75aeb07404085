"""Profiles of boards, hosts, meters, batteries and cores: TOML files and their readers."""
