#!/bin/sh
# Set up Arenite in this folder: system packages, a virtual environment, the package itself.
# Safe to run again: what is there is kept. Usage: ./setup.sh [extras]   (default: dev)
set -eu
cd "$(dirname "$0")"
extras=${1:-dev}
python=${PYTHON:-python3}

# command:package pairs; only packages whose command is missing are installed. The demo needs the Cortex-M alone.
wanted="arm-none-eabi-gcc:gcc-arm-none-eabi
qemu-system-arm:qemu-system-arm"
case $extras in
dev) wanted="$wanted
gcc:gcc
riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf
xtensa-lx106-elf-gcc:gcc-xtensa-lx106
qemu-system-riscv32:qemu-system-misc
qemu-system-xtensa:qemu-system-misc
cppcheck:cppcheck" ;;
esac

missing=
for pair in $wanted; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || case " $missing " in
    *" ${pair#*:} "*) ;;
    *) missing="$missing ${pair#*:}" ;;
    esac
done
# A C compiler without the C library's headers cannot build the host tests.
[ "$extras" != dev ] || [ -e /usr/include/stdint.h ] || missing="$missing libc6-dev"
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv"

if [ -n "$missing" ]; then
    echo "Arenite needs these system packages:$missing"
    if ! command -v apt-get >/dev/null 2>&1; then
        cat <<END
This is no Debian or Ubuntu: install them with your own package manager, then run this again. They hold:
  cross compilers for Arm Cortex-M (arm-none-eabi-gcc), RISC-V (riscv64-unknown-elf-gcc) and Xtensa
  (xtensa-lx106-elf-gcc); QEMU's system emulators for arm, riscv32 and xtensa; gcc; Python's venv.
END
        exit 3
    fi
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        echo "Neither root nor sudo: ask an administrator to run: apt-get install$missing"
        exit 3
    fi
    echo "Installing them now (apt-get install --no-install-recommends)."
    $as_root apt-get update -qq
    # shellcheck disable=SC2086  # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
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
