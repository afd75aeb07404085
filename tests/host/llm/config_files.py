"""Write files config.json as Hugging Face has them, with the fields of SmolLM2-135M and chosen changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SMOLLM2: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "num_hidden_layers": 30,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}


def config(path: Path, **fields: Any) -> Path:
    """Write the file. ``fields`` replace fields of ``SMOLLM2``; ``...`` leaves one out."""
    path.write_text(json.dumps({k: v for k, v in (SMOLLM2 | fields).items() if v is not ...}))
    return path
