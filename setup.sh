#!/bin/sh
# Set up Arenite in this folder: system packages, a virtual environment, the package itself.
# Safe to run again: what is there is kept. Usage: ./setup.sh [extras] [vm] [arm64]   (default: dev)
# vm, arm64: what `make test-vm` and `make test-arm64` need besides.
set -eu
cd "$(dirname "$0")"
extras=${1:-dev}
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}

# command:package pairs; only packages whose command is missing are installed. The demo needs the Cortex-M alone, the
# camera a compiler of this computer.
wanted=
case $extras in
demo | dev) wanted="arm-none-eabi-gcc:gcc-arm-none-eabi
qemu-system-arm:qemu-system-arm" ;;
esac
case $extras in
camera | dev) wanted="$wanted
gcc:gcc" ;;
esac
case $extras in
dev) wanted="$wanted
g++:g++
git:git
riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf
xtensa-lx106-elf-gcc:gcc-xtensa-lx106
qemu-system-riscv32:qemu-system-misc
qemu-system-xtensa:qemu-system-misc
ccache:ccache
cppcheck:cppcheck
mosquitto:mosquitto" ;;
esac
# Tests that need one of these are skipped without it.
optional=
case $extras in
dev)
    optional="qemu-x86_64:qemu-user
cmake:cmake
gst-launch-1.0:gstreamer1.0-tools
gst-launch-1.0:gstreamer1.0-plugins-base
openocd:openocd
st-flash:stlink-tools
dfu-util:dfu-util
uhubctl:uhubctl
espeak-ng:espeak-ng"
    command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 ||
        optional="chromium:chromium $optional"
    ;;
esac
for more in "$@"; do
    case $more in
    vm) wanted="$wanted
qemu-system-x86_64:qemu-system-x86
busybox:busybox-static
depmod:kmod
cpio:cpio" ;;
    arm64) wanted="$wanted
qemu-aarch64:qemu-user
aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu" ;;
    *)
        echo "setup.sh knows vm and arm64, not '$more'."
        exit 2
        ;;
    esac
done

# Packages of the pairs in $1 whose command is missing.
missing_of() {
    found=
    for pair in $1; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || case " $found " in
        *" ${pair#*:} "*) ;;
        *) found="${found:+$found }${pair#*:}" ;;
        esac
    done
    echo "$found"
}
missing=$(missing_of "$wanted")
# A C compiler without the C library's headers cannot build the host tests.
[ "$extras" = demo ] || [ "$extras" = docs ] || [ -e /usr/include/stdint.h ] || missing="$missing libc6-dev"
case " $* " in
*" arm64 "*) [ -e /usr/aarch64-linux-gnu/include/stdint.h ] || missing="$missing libc6-dev-arm64-cross" ;;
esac
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv"

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
install() {
    echo "Installing them now (apt-get install --no-install-recommends)."
    $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ -n "$missing" ]; then
    echo "Arenite needs these system packages: $missing"
    if ! command -v apt-get >/dev/null 2>&1; then
        cat <<END
This is no Debian or Ubuntu: install them with your own package manager, then run this again. They hold:
  cross compilers for Arm Cortex-M (arm-none-eabi-gcc), RISC-V (riscv64-unknown-elf-gcc) and Xtensa
  (xtensa-lx106-elf-gcc); QEMU's system emulators for arm, riscv32 and xtensa; gcc; Python's venv.
END
        exit 3
    fi
    if [ -n "$as_root" ] && ! command -v sudo >/dev/null 2>&1; then
        echo "Neither root nor sudo: ask an administrator to run: apt-get install $missing"
        exit 3
    fi
    # shellcheck disable=SC2086  # a list of words
    install $missing
fi

missing=$(missing_of "$optional")
if [ -n "$missing" ]; then
    echo "Some tests need these system packages, and are skipped without them: $missing"
    # shellcheck disable=SC2086
    { command -v apt-get && { [ -z "$as_root" ] || command -v sudo; }; } >/dev/null 2>&1 && install $missing ||
        echo "They could not be installed; going on without them."
fi

"$python" - <<'END' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Arenite needs Python 3.11 or newer; this is {sys.version.split()[0]}. Set PYTHON=python3.11.")
END

# The stamp holds what was installed, so that nothing is done again while it stays true.
stamp=.venv/.arenite-$extras
state=$(cat pyproject.toml setup.sh | cksum)
if [ ! -x .venv/bin/arenite ] || [ "$(cat "$stamp" 2>/dev/null)" != "$state" ]; then
    if [ ! -x .venv/bin/python ]; then
        echo "Making the virtual environment .venv"
        "$python" -m venv .venv
    fi
    echo "Installing arenite[$extras] and the Python packages that it needs into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
    echo "$state" >"$stamp"
fi
