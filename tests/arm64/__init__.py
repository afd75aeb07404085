"""Run the camera loop on aarch64 under qemu-user, with the project's own wheel, LiteRT's wheel and Debian's Python."""
