"""Debian's kernel and a start-up file system with the modules that a camera test needs, kept in the cache."""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.files import cache_directory

#: Loaded by the start-up script before anything else runs; what they depend on is loaded first.
AT_START = ("virtio_pci", "9pnet_virtio", "9p")
#: Loaded by the test, with options of its own.
LATER = (
    *("vivid", "uvcvideo", "vhci-hcd"),
    # Boards: a USB device of this kernel's own, a serial port and a drive on it, and what the host needs for both.
    *("dummy_hcd", "libcomposite", "usb_f_acm", "usb_f_mass_storage", "cdc-acm", "usb-storage", "sd_mod"),
    *("vfat", "nls_cp437", "nls_ascii", "nls_iso8859-1", "nls_utf8"),
)
#: Commands and the Debian packages that have them.
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
    """``release``: as uname tells it; ``modules``: of this kernel, unpacked, with their dependencies computed."""

    release: str
    image: Path
    modules: Path

    def needed(self, names: tuple[str, ...]) -> list[Path]:
        """The files of the modules and of all that they depend on, in the order to load them."""
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
            if name in paths:  # else it is built in, or this kernel lacks it: the test tells
                visit(paths[name])
        return [self.modules / file for file in order]


def missing_tools() -> list[str]:
    """Debian packages to install."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def kernel() -> Kernel:
    """Debian's newest, fetched with apt-get once. Raises ``ToolError``."""
    lacking = missing_tools()
    if lacking:
        raise ToolError(
            f"The emulated PC needs {', '.join(lacking)}.", f"Run: apt-get install -y {' '.join(lacking)}."
        )
    root = cache_directory() / "vm"
    found = _unpacked(root)
    if found is None:
        _fetch(root)
        found = _unpacked(root)
    if found is None:
        raise ToolError(
            f"The kernel's package in {root} has no kernel.", "Delete that folder, then try again."
        )
    return found


def _unpacked(root: Path) -> Kernel | None:
    for image in sorted(root.glob("*/boot/vmlinuz-*"), reverse=True):
        release = image.name.removeprefix("vmlinuz-")
        for parent in ("lib", "usr/lib"):
            modules = image.parents[1] / parent / "modules" / release
            found = Kernel(release, image, modules)
            # What an older version of this file left out has to be fetched.
            if (modules / "modules.dep").is_file() and all(
                path.is_file() for path in found.needed((*AT_START, *LATER))
            ):
                return found
    return None


def _fetch(root: Path) -> None:
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
            where = unpacked if (unpacked / "lib/modules").is_dir() else unpacked / "usr"
            release = image.name.removeprefix("vmlinuz-")
            _run(["depmod", "-b", str(where), release], folder)
            _thin_out(Kernel(release, image, where / "lib/modules" / release))
        shutil.rmtree(root / package, ignore_errors=True)
        unpacked.rename(root / package)


def _thin_out(kernel: Kernel) -> None:
    """Of 400 MB only what is loaded stays."""
    kept = set(kernel.needed((*AT_START, *LATER)))
    for file in kernel.modules.rglob("*.ko*"):
        if file not in kept:
            file.unlink()


def _package() -> str:
    """What the package ``linux-image-amd64`` stands for now. The cloud kernel has no camera."""
    said = _run(["apt-cache", "depends", "linux-image-amd64"], Path("/"))
    names = [line.split()[-1] for line in said.splitlines() if "Depends: linux-image-" in line]
    if not names:
        raise ToolError(
            "No package linux-image-amd64 is known here, or it depends on no kernel.",
            "Run apt-get update; on other systems than Debian use a container with Debian.",
        )
    return names[0]


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise ToolError(f"{' '.join(command[:3])} failed: {lines[-1]}", "Run apt-get update, then try again.")
    return done.stdout


def start_up(kernel: Kernel, command: str, target: Path) -> Path:
    """The start-up file system as ``target``: busybox, modules and a script that runs ``command`` in this computer's
    root, read-only, by its /bin/sh."""
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
    return Path(file).name.removesuffix(".xz").removesuffix(".ko")
