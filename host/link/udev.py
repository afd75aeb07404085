"""Generate udev rules from the board profiles. With these rules, the user at the computer may use its boards and debug
probes, and ModemManager does not probe their ports. (ModemManager sends data to every new port for some seconds, which
the firmware would receive as noise.)"""

from __future__ import annotations

from arenite.host.link.ports import ADAPTERS
from arenite.profiles.boards import all_boards

RULES_FILE = "/etc/udev/rules.d/70-arenite.rules"
_HEAD = f"""\
# USB ids of the boards that Arenite knows. Put this file into {RULES_FILE}, then run:
#   udevadm control --reload && udevadm trigger
# The number in the file's name has to be below 73, where uaccess is applied.
ACTION=="remove", GOTO="arenite_end"
SUBSYSTEM!="usb|tty|hidraw", GOTO="arenite_end"
"""
_TAIL = 'LABEL="arenite_end"\n'
_RULE = (
    'ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{product}", MODE="0660", TAG+="uaccess",'
    ' ENV{{ID_MM_DEVICE_IGNORE}}="1"\n'
)


def rules() -> str:
    """Return the text of the rules file, with comments: rules for the ids of every profile and of the common
    USB-to-serial adapters."""
    names: dict[str, list[str]] = {id: [f"{maker} adapter"] for id, maker in ADAPTERS.items()}
    for board in all_boards():
        for id in (*board.usb.ids, *board.usb.boot, *(board.targets.dfu.ids if board.targets.dfu else ())):
            board_names = names.setdefault(id, [])
            if board.name not in board_names:
                board_names.append(board.name)
    text = _HEAD
    for id in sorted(names):
        vendor, product = id.split(":")
        listing = ", ".join(names[id][:3]) + (f" and {len(names[id]) - 3} more" if len(names[id]) > 3 else "")
        text += f"# {listing}\n" + _RULE.format(vendor=vendor, product=product)
    return text + _TAIL
