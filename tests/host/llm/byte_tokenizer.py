"""Make byte-level tokenizers, as the file tokenizer.json describes them."""

from __future__ import annotations

from typing import Any


def tokenizer(tokens: list[str], merges: list[str]) -> dict[str, Any]:
    """Return the content of tokenizer.json for a byte-level tokenizer. Tokens such as "<|im_end|>" are marks."""
    vocabulary = {token: number for number, token in enumerate(tokens)}
    marks = [token for token in tokens if token.startswith("<") and token.endswith(">") and len(token) > 2]
    flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": vocabulary[mark], "content": mark} | flags for mark in marks],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, letters]},
        "post_processor": None,
        "decoder": letters,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": merges},
    }


def byte_tokens() -> list[str]:
    """Return three marks, and the letters that stand for the 256 bytes in byte-level tokenizers: bytes that are
    printable stand for themselves, the others for the letters from U+0100 on."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = iter(range(256, 512))
    letters = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *letters]
