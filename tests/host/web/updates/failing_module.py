"""A version of the model whose module is written by hand: it answers for some time and then traps."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

#: A module with the functions of a picture classifier. From the answer number $limit on, ``invoke`` traps. The picture
#: is at address 65536, the result (score 0.5 of class 0) at 1024 and the hash at 2048.
_TEXT = """
(module
  {imports}
  (memory (export "memory") 4)
  (data (i32.const 2048) "{hash}")
  (data (i32.const 1024) "\\00\\00\\00\\00\\00\\00\\00\\00")
  (global $count (mut i32) (i32.const 0))
  (func (export "net_input") (param i32) (result i32) (i32.const 4096))
  (func (export "net_output") (param i32) (result i32) (i32.const 8192))
  (func (export "net_hash") (result i32) (i32.const 2048))
  (func (export "net_image") (result i32) (i32.const 65536))
  (func (export "net_preprocess"))
  (func (export "net_invoke")
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (if (i32.ge_u (global.get $count) (i32.const {limit})) (then unreachable)))
  (func (export "net_postprocess") (result i32) (i32.const 1))
  (func (export "net_results") (result i32) (i32.const 1024)))
"""


def write_failing_page(page: Path, folder: Path, limit: int, imports: str = "") -> Path:
    """Write a version like the one in the folder ``page`` to ``folder``, which traps at the inference ``limit``. Return
    ``folder``."""
    from wasmtime import wat2wasm

    description = json.loads((page / "model.json").read_text())
    (model,) = description["models"]
    digest = "".join(f"\\{byte:02x}" for byte in bytes.fromhex(model["image_sha256"])[:8])
    module = bytes(wat2wasm(_TEXT.format(imports=imports, hash=digest, limit=limit)))
    (file,) = description["files"]
    file.update(bytes=len(module), sha256=hashlib.sha256(module).hexdigest())
    folder.mkdir()
    (folder / file["name"]).write_bytes(module)
    (folder / "model.json").write_text(json.dumps(description))
    return folder
