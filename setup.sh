#!/bin/sh
# Set up Arenite in this folder: install system packages, a virtual environment and the package.
# You can run it again: it keeps what is already installed.
# Usage: ./setup.sh [demo|camera|test|dev] [vm] [arm64]   (default: dev)
# test installs the needs of `make test`. dev adds those of `make test-all` and `make lint`.
# vm and arm64 add those of `make test-vm` and `make test-arm64`.
# The Python packages are those of requirements/. With UNLOCKED=1, they are the newest that pyproject.toml permits.
set -eu
cd "$(dirname "$0")"
extras=${1:-dev}
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}

# Pairs of command:package. A package is installed only if its command is missing. The demo needs only the tools for
# Cortex-M, and the camera needs a compiler for this computer.
wanted=
case $extras in
demo | test | dev) wanted="arm-none-eabi-gcc:gcc-arm-none-eabi
qemu-system-arm:qemu-system-arm" ;;
esac
case $extras in
camera | test | dev) wanted="$wanted
gcc:gcc" ;;
esac
case $extras in
test | dev) wanted="$wanted
g++:g++
git:git
openssl:openssl
riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf
qemu-system-riscv32:qemu-system-misc
ccache:ccache
mosquitto:mosquitto" ;;
esac
case $extras in
dev) wanted="$wanted
xtensa-lx106-elf-gcc:gcc-xtensa-lx106
qemu-system-xtensa:qemu-system-misc
cppcheck:cppcheck" ;;
esac
# Tests that need one of these commands are skipped without it. Any browser works. If there is none, the smallest one is
# installed.
optional=
case $extras in
test | dev)
    browser=
    for command in chromium chromium-browser google-chrome chromium-headless-shell; do
        command -v "$command" >/dev/null 2>&1 && browser=$command
    done
    optional=bwrap:bubblewrap
    [ -n "$browser" ] || optional="$optional
chromium-headless-shell:chromium-headless-shell"
    ;;
esac
case $extras in
dev)
    optional="$optional
firefox:firefox-esr
WebKitWebDriver:webkit2gtk-driver
Xvfb:xvfb
clang:clang
qemu-x86_64:qemu-user
cmake:cmake
gst-launch-1.0:gstreamer1.0-tools
gst-launch-1.0:gstreamer1.0-plugins-base
openocd:openocd
st-flash:stlink-tools
dfu-util:dfu-util
uhubctl:uhubctl
verilator:verilator
espeak-ng:espeak-ng
pg_createcluster:postgresql"
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
        echo "setup.sh: unknown argument '$more'. Use vm or arm64."
        exit 2
        ;;
    esac
done

# Print the packages of the pairs in $1 whose command is missing.
missing_of() {
    packages=
    for pair in $1; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || case " $packages " in
        *" ${pair#*:} "*) ;;
        *) packages="${packages:+$packages }${pair#*:}" ;;
        esac
    done
    echo "$packages"
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
# Run an apt-get command. If another program holds apt's locks (unattended upgrades, for example), wait for at most 10
# minutes: apt-get waits for dpkg's lock, but fails immediately if its lists or archives are locked.
apt_get() {
    tries_left=120
    while :; do
        status=0
        errors=$({ $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -qq -o DPkg::Lock::Timeout=600 "$@" \
            >/dev/null; } 2>&1) || status=$?
        [ "$status" != 0 ] || return 0
        case $errors in
        *"Could not get lock"* | *"Unable to lock"*) ;;
        *) tries_left=0 ;;
        esac
        [ "$tries_left" -gt 0 ] || break
        [ "$tries_left" != 120 ] || echo "Another program is using apt. Waiting for at most 10 minutes."
        tries_left=$((tries_left - 1))
        sleep 5
    done
    echo "$errors" >&2
    return "$status"
}
install() {
    echo "Installing these packages now (apt-get install --no-install-recommends)."
    apt_get update && apt_get install -y --no-install-recommends "$@"
}
# Install only those packages that this system's archive has.
install_known() {
    echo "Installing these packages now (apt-get install --no-install-recommends)."
    apt_get update || return 1
    known=
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            known="$known $package"
        else
            echo "This system's archive has no package $package, so it is not installed."
        fi
    done
    # shellcheck disable=SC2086  # a list of words
    [ -z "$known" ] || apt_get install -y --no-install-recommends $known
}

if [ -n "$missing" ]; then
    echo "Arenite needs these system packages: $missing"
    if ! command -v apt-get >/dev/null 2>&1; then
        cat <<END
This system is not Debian or Ubuntu. Install these tools with your package manager, then run setup.sh again:
  cross compilers for Arm Cortex-M (arm-none-eabi-gcc), RISC-V (riscv64-unknown-elf-gcc) and Xtensa
  (xtensa-lx106-elf-gcc); QEMU's system emulators for arm, riscv32 and xtensa; gcc; Python's venv.
END
        exit 3
    fi
    if [ -n "$as_root" ] && ! command -v sudo >/dev/null 2>&1; then
        echo "You are not root, and sudo is not installed. Ask an administrator to run: apt-get install $missing"
        exit 3
    fi
    # shellcheck disable=SC2086  # a list of words
    install $missing
fi

missing=$(missing_of "$optional")
# The sanitizers and libFuzzer of clang are in a package of their own.
case $extras in
dev) [ -n "$(find /usr/lib -name 'libclang_rt.fuzzer*' 2>/dev/null | head -n 1)" ] || missing="$missing libclang-rt-dev" ;;
esac
if [ -n "$missing" ]; then
    echo "Some tests need these system packages and are skipped without them: $missing"
    # shellcheck disable=SC2086
    { command -v apt-get && { [ -z "$as_root" ] || command -v sudo; }; } >/dev/null 2>&1 && install_known $missing ||
        echo "These packages could not be installed. Setup continues without them."
fi

"$python" - <<'END' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Arenite needs Python 3.11 or newer; this is {sys.version.split()[0]}. Set PYTHON=python3.11.")
END

# The stamp file has the checksum of what was installed. Nothing is installed again while the checksum is the same.
stamp=.venv/.arenite-$extras
lock=requirements/$extras.txt
state=$(cat pyproject.toml setup.sh "$lock" | cksum)
if [ ! -x .venv/bin/arenite ] || [ "$(cat "$stamp" 2>/dev/null)" != "$state" ]; then
    if [ ! -x .venv/bin/python ]; then
        echo "Creating the virtual environment .venv"
        "$python" -m venv .venv
    fi
    echo "Installing arenite[$extras] and the Python packages that it needs into .venv"
    pip() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }
    if [ -n "${UNLOCKED:-}" ]; then
        pip --upgrade --upgrade-strategy eager --editable ".[$extras]"
    else
        # pip refuses every file whose hash is not in the lock file. The file lists all packages, so pip looks for no
        # others: for a package required as name[extra], older pips choose its newest version instead of the locked one.
        pip --require-hashes --no-deps --requirement "$lock"
        pip --no-deps --no-build-isolation --editable .
    fi
    echo "$state" >"$stamp"
fi
