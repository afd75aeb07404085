"""Get p256-m, the C library whose arithmetic checks ECDSA signatures, from a pinned Debian source package.

p256-m is a part of Mbed TLS 3.6. Several source packages of Debian contain the same file. Debian removes a package when
a newer version replaces it, so the next one is tried.
"""

from __future__ import annotations

from pathlib import Path

from arenite.firmware.update.c_library import CLibrary, SourcePackage, library_folder
from arenite.models.manifest import Package

_POOL = "https://deb.debian.org/debian/pool/main"
_LICENCE = "Apache-2.0 OR GPL-2.0-or-later"


def _package(name: str, version: str, sha256: str, size: int, folder: str) -> SourcePackage:
    file = f"{name}_{version}.orig.tar.bz2"
    url = f"{_POOL}/{name[0]}/{name}/{file}"
    package = Package(name, version, sha256, size, _LICENCE, url, pip=(), registry="web")
    return SourcePackage(package, file, f"{name}-{version}/{folder}3rdparty/p256-m/p256-m")


#: The packages that are tried. U-Boot's stays in Debian 13 until its end.
PACKAGES = (
    _package(
        "mbedtls", "3.6.6", "8fb65fae8dcae5840f793c0a334860a411f884cc537ea290ce1c52bb64ca007a", 5508045, ""
    ),
    _package(
        "mbedtls", "3.6.5", "4a11f1777bb95bf4ad96721cac945a26e04bf19f57d905f241fe77ebeddf46d8", 5367178, ""
    ),
    _package(
        "u-boot",
        "2025.01",
        "cdef7d507c93f1bbd9f015ea9bc21fa074268481405501945abc6f854d5b686f",
        32890299,
        "lib/mbedtls/external/mbedtls/",
    ),
)
#: The name of a variable of the environment with the path of a package that was downloaded before.
VARIABLE = "ARENITE_P256_M"

#: What p256-m.c includes of Mbed TLS. The device makes no keys, so it has no random numbers.
_PLATFORM_UTIL = """\
#include <stddef.h>
static inline void mbedtls_platform_zeroize(void *data, size_t bytes)
{
    volatile unsigned char *at = data;
    while (bytes-- > 0) {
        *at++ = 0;
    }
}
"""
_CRYPTO = """\
#include <stddef.h>
#define MBEDTLS_PSA_P256M_DRIVER_ENABLED
static inline int psa_generate_random(unsigned char *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return -1;
}
"""
#: For compilers without the headers of a C library. p256-m.c includes the others too, but uses only these.
_STRING = """\
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
"""
#: The folder with headers for compilers without a C library.
WITHOUT_LIBC = "without_libc"

P256_M = CLibrary(
    name="p256-m",
    packages=PACKAGES,
    variable=VARIABLE,
    files={
        "p256-m.c": "f546b6e993e268dd2fa464c68b740f708498d480c1f74aa1bbda518d1f7bb770",
        "p256-m.h": "ae61836d9e8083177e25168df7e35f77a65c5e3443ca0980053863ca07e334d0",
    },
    written={
        "mbedtls/platform_util.h": _PLATFORM_UTIL,
        "psa/crypto.h": _CRYPTO,
        f"{WITHOUT_LIBC}/string.h": _STRING,
        f"{WITHOUT_LIBC}/stdio.h": "",
        f"{WITHOUT_LIBC}/stdlib.h": "",
    },
)


def p256_m_folder(archive: Path | None = None, *, progress: bool = True) -> Path:
    """Return the folder in the cache that contains ``p256-m.c``, ``p256-m.h`` and what they include.

    If it does not have them, they are read from ``archive``, by default from the file that ``ARENITE_P256_M`` names, or
    else from a download.

    Raises:
        ToolError: No package could be downloaded, or the cache cannot be written.
        UsageError: ``archive`` is not a pinned package.
    """
    return library_folder(P256_M, archive, progress=progress)


def p256_m_flags(folder: Path) -> tuple[str, ...]:
    """Return the compiler's flags for ``p256-m.c``, and for files that include ``p256-m.h``."""
    return ("-isystem", str(folder), "-idirafter", str(folder / WITHOUT_LIBC))
