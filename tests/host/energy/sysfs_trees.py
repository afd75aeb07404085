"""Write sysfs trees in the kernel's format, and programs that print the output of Android's commands, for tests."""

from __future__ import annotations

from pathlib import Path


def put(root: Path, files: dict[str, object]) -> Path:
    """Write each file under ``root`` with its content, or remove it if the content is None. Return ``root``."""
    for name, content in files.items():
        path = root / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


def hwmon_ina3221(root: Path, rails: dict[str, tuple[int, int]], number: int = 1) -> Path:
    """Write the hwmon files of an INA3221 under ``root`` and return ``root``. ``rails`` maps labels to (mV, mA)."""
    base = f"sys/class/hwmon/hwmon{number}"
    files: dict[str, object] = {f"{base}/name": "ina3221", f"{base}/in7_label": "sum of shunt voltages"}
    for channel, (label, (millivolts, milliamperes)) in enumerate(rails.items(), 1):
        files |= {
            f"{base}/in{channel}_label": label,
            f"{base}/in{channel}_input": millivolts,
            f"{base}/curr{channel}_input": milliamperes,
            f"{base}/in{channel + 3}_input": 1234,  # the shunt voltage, which is no rail
        }
    return put(root, files)


def command(folder: Path, name: str, text: str, status: int = 0) -> str:
    """Write a program ``name`` that prints ``text``; return the PATH with its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    (folder / f"{name}.txt").write_text(text)
    script.write_text(f'#!/bin/sh\nif [ -f "{folder}/{name}.$1" ]; then /bin/cat "{folder}/{name}.$1"; exit 0; fi\n'
                      f'/bin/cat "{folder}/{name}.txt"\nexit {status}\n')  # fmt: skip
    script.chmod(0o755)
    return str(folder)


class Clock:
    """A clock in seconds that only tests advance."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def rapl_tree(root: Path, name: str = "package-0", energy: int = 1_000_000, index: str = "0") -> Path:
    """Write the files of a RAPL zone under ``root`` and return ``root``. ``energy`` is its counter in microjoules."""
    base = f"sys/class/powercap/intel-rapl:{index}"
    return put(
        root, {f"{base}/name": name, f"{base}/energy_uj": energy, f"{base}/max_energy_range_uj": 262143328850}
    )


def battery_tree(root: Path, **files: object) -> Path:
    """Write the files of a discharging battery under ``root`` and return ``root``. ``files`` adds or replaces files."""
    entries = {"type": "Battery", "status": "Discharging"} | files
    return put(root, {f"sys/class/power_supply/BAT0/{name}": value for name, value in entries.items()})
