"""Download Debian's kernel into the cache, and make a start-up file system with the modules that the checks need."""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory

#: Modules that the start-up script loads first, after their dependencies.
AT_START = ("virtio_pci", "9pnet_virtio", "9p")
#: Modules that the checks load, with their own options.
LATER = (
    *("vivid", "uvcvideo", "vhci-hcd"),
    # For boards: a USB device of this kernel with a serial port and a drive, and the host's drivers for both.
    *("dummy_hcd", "libcomposite", "usb_f_acm", "usb_f_mass_storage", "cdc-acm", "usb-storage", "sd_mod"),
    *("vfat", "nls_cp437", "nls_ascii", "nls_iso8859-1", "nls_utf8"),
)
#: Required commands and their Debian packages.
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
}

INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /host
$b mount -t proc none /proc
$b mount -t sysfs none /sys
$b mount -t devtmpfs none /dev
for m in $($b cat /modules/order); do $b insmod /modules/$m || echo "insmod $m failed"; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=524288 host /host || echo "no host"
$b mount -t tmpfs none /host/tmp
$b mkdir -p /host/tmp/modules
$b cp /modules/* /host/tmp/modules/
for d in proc sys dev; do $b mount -o bind /$d /host/$d; done
$b ip link set lo up
$b chroot /host /bin/sh -c "$($b cat /command)" </dev/null
$b echo "arenite-exit $?" >/dev/ttyS1
$b sync
$b poweroff -f
"""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: its release (as ``uname -r`` prints it), its image, and the folder with its modules and their
    dependencies."""

    release: str
    image: Path
    modules: Path

    def needed(self, names: tuple[str, ...]) -> list[Path]:
        """Return the files of the modules and of their dependencies, in loading order."""
        depends: dict[str, list[str]] = {}
        for line in (self.modules / "modules.dep").read_text("utf-8").splitlines():
            file, _, others = line.partition(":")
            depends[file] = others.split()
        paths = {_name(file): file for file in depends}
        order: list[str] = []

        def visit(file: str) -> None:
            for other in reversed(depends[file]):
                visit(other)
            if file not in order:
                order.append(file)

        for name in names:
            if name in paths:  # otherwise it is built in, or missing, which makes a check fail
                visit(paths[name])
        return [self.modules / file for file in order]


def missing_tools() -> list[str]:
    """Return the Debian packages of the missing commands."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def kernel() -> Kernel:
    """Return Debian's newest kernel. Downloads it once with apt-get; raises ``ToolError`` if that fails."""
    packages = missing_tools()
    if packages:
        raise ToolError(
            f"The emulated PC needs {', '.join(packages)}.", f"Run: apt-get install -y {' '.join(packages)}."
        )
    root = cache_directory() / "vm"
    unpacked = _unpacked(root)
    if unpacked is None:
        _fetch(root)
        unpacked = _unpacked(root)
    if unpacked is None:
        raise ToolError(
            f"The kernel's package in {root} has no kernel.", "Delete that folder, then try again."
        )
    return unpacked


def _unpacked(root: Path) -> Kernel | None:
    """Return the newest unpacked kernel in ``root`` that has all modules, or None."""
    for image in sorted(root.glob("*/boot/vmlinuz-*"), reverse=True):
        release = image.name.removeprefix("vmlinuz-")
        for parent in ("lib", "usr/lib"):
            modules = image.parents[1] / parent / "modules" / release
            candidate = Kernel(release, image, modules)
            # An older version of this file may have kept fewer modules; then the package is downloaded again.
            if (modules / "modules.dep").is_file() and all(
                path.is_file() for path in candidate.needed((*AT_START, *LATER))
            ):
                return candidate
    return None


def _fetch(root: Path) -> None:
    """Download the kernel package, and unpack the kernel and the modules that the checks need into ``root``."""
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix="download-") as temporary:
        folder = Path(temporary)
        package = _package()
        _run(["apt-get", "download", package], folder)
        files = list(folder.glob("*.deb"))
        if len(files) != 1:
            raise ToolError(f"apt-get downloaded {len(files)} files for {package}, not one.")
        _run(["dpkg-deb", "-x", str(files[0]), "unpacked"], folder)
        unpacked = folder / "unpacked"
        for image in (unpacked / "boot").glob("vmlinuz-*"):
            module_root = unpacked if (unpacked / "lib/modules").is_dir() else unpacked / "usr"
            release = image.name.removeprefix("vmlinuz-")
            _run(["depmod", "-b", str(module_root), release], folder)
            _remove_unused_modules(Kernel(release, image, module_root / "lib/modules" / release))
        shutil.rmtree(root / package, ignore_errors=True)
        unpacked.rename(root / package)


def _remove_unused_modules(kernel: Kernel) -> None:
    """Delete all modules that the checks do not load. All modules together take 400 MB."""
    needed = set(kernel.needed((*AT_START, *LATER)))
    for file in kernel.modules.rglob("*.ko*"):
        if file not in needed:
            file.unlink()


def _package() -> str:
    """Return the kernel package that ``linux-image-amd64`` depends on. (The cloud kernel has no camera drivers.)"""
    output = _run(["apt-cache", "depends", "linux-image-amd64"], Path("/"))
    names = [line.split()[-1] for line in output.splitlines() if "Depends: linux-image-" in line]
    if not names:
        raise ToolError(
            "apt-cache lists no kernel for the package linux-image-amd64.",
            "Run apt-get update. On systems other than Debian, use a container with Debian.",
        )
    return names[0]


def _run(command: list[str], folder: Path) -> str:
    """Run a command in ``folder`` and return its output. Raises ``ToolError`` if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise ToolError(f"{' '.join(command[:3])} failed: {lines[-1]}", "Run apt-get update, then try again.")
    return done.stdout


def start_up(kernel: Kernel, command: str, target: Path) -> Path:
    """Write the start-up file system to ``target`` and return ``target``. It contains busybox, the modules, and a
    script that runs ``command`` with /bin/sh in this computer's root, mounted read-only."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "bin").mkdir()
        (folder / "modules").mkdir()
        shutil.copy(shutil.which("busybox") or "busybox", folder / "bin" / "busybox")
        first = kernel.needed(AT_START)
        for path in (*first, *kernel.needed(LATER)):
            data = path.read_bytes()
            plain = path.name.removesuffix(".xz")
            (folder / "modules" / plain).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
        (folder / "modules" / "order").write_text(
            "\n".join(p.name.removesuffix(".xz") for p in first), "utf-8"
        )
        for name in LATER:
            order = "\n".join(p.name.removesuffix(".xz") for p in kernel.needed((name,)))
            (folder / "modules" / f"order-{name}").write_text(order, "utf-8")
        (folder / "command").write_text(command, "utf-8")
        (folder / "init").write_text(INIT, "utf-8")
        (folder / "init").chmod(0o755)
        names = "\n".join(str(p.relative_to(folder)) for p in sorted(folder.rglob("*")))
        with target.open("wb") as file:
            subprocess.run(
                ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
                cwd=folder, input=names.encode(), stdout=file, check=True, timeout=120,
            )  # fmt: skip
    return target


def _name(file: str) -> str:
    """Return the name of the module in a file."""
    return Path(file).name.removesuffix(".xz").removesuffix(".ko")
