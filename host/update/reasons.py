"""The reasons for which a device refuses an update image (``firmware/update/image.h``), each with a sentence."""

from __future__ import annotations

#: Results of ``ar_image_check`` by number: the name in C without ``AR_IMAGE_``, and a sentence. 0 is acceptance.
REASONS: dict[int, tuple[str, str]] = {
    0: ("OK", "The device accepts the image."),
    1: ("RULES", "The device has no valid rules for this slot: its firmware lacks a key, a board or a slot."),
    2: ("READ", "The device could not read its flash memory."),
    3: ("MAGIC", "The slot does not begin with an image in MCUboot's format."),
    4: (
        "HEADER_SIZE",
        "The header is shorter than 32 bytes or longer than the slot, or the payload is not where the device needs it.",
    ),
    5: ("FLAGS", "The image is encrypted, compressed, not bootable or made to run from RAM."),
    6: ("ADDRESS", "The image was linked for another address than that of this slot."),
    7: ("SIZE", "The payload is empty or does not fit into the slot."),
    8: ("PROTECTED_AREA", "The image has no valid protected area behind its payload."),
    9: ("UNPROTECTED_AREA", "The image has no valid unprotected area behind the protected one."),
    10: ("TLV_END", "A TLV is longer than the area that contains it."),
    11: ("TLV_TYPE", "An area contains a TLV of a type that the device does not allow there."),
    12: ("TLV_TWICE", "A TLV that must be there once is there twice."),
    13: ("TLV_LENGTH", "A TLV has another length than its type requires."),
    14: ("NO_COUNTER", "The image has no security counter."),
    15: ("NO_BOARD", "The image does not name the board for which it was made."),
    16: ("NO_KIND", "The image does not say whether it is a firmware or a model."),
    17: ("NO_ABI", "The image has no hash of graph, arena and kernels."),
    18: ("NO_HASH", "The image has no SHA-256 hash."),
    19: ("NO_KEY_HASH", "The image does not name the key that signed it."),
    20: ("NO_SIGNATURE", "The image has no signature with the algorithm of this device."),
    21: ("KIND", "The image is a model for a slot of a firmware, or a firmware for a slot of a model."),
    22: ("BOARD", "The image was made for another board."),
    23: ("ABI", "The model was made for another graph, arena or kernels than the firmware has."),
    24: ("COUNTER", "The security counter is lower than the one that the device requires."),
    25: ("KEY", "The image was signed with another key."),
    26: ("HASH", "The image is damaged: its SHA-256 hash differs."),
    27: ("SIGNATURE", "The signature is not valid."),
}

#: Firmware and model do not belong together: AR_BOOT_ABI_DIFFERS of firmware/update/boot.h.
ABI_DIFFERS = 255
#: The vendor's boot loader does not start the firmware: ESP_BOOT_REFUSED of firmware/update/esp32/esp_boot.h.
NOT_STARTED = 253


def reason(number: int) -> str:
    """Return the sentence for a result of ``ar_image_check``, ``ABI_DIFFERS`` or ``NOT_STARTED``."""
    if number == ABI_DIFFERS:
        return "Firmware and model were made for different graphs, arenas or kernels."
    if number == NOT_STARTED:
        return "The boot loader of ESP-IDF refuses the firmware: it is no application for this chip."
    return REASONS[number][1] if number in REASONS else f"The device refused the image with reason {number}."
