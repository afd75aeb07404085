"""The camera loop on aarch64, under qemu-user: the project's own wheel, LiteRT's, and Debian's Python."""
