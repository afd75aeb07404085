"""Profiles (TOML files) of boards, hosts, meters, batteries and the energy of cores' instructions, and the code that
reads them."""
