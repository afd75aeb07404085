"""Write torch.export programs, their inputs and outputs, and a checkpoint to the folder given as argument."""

import io
import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

import factories
import numpy as np
import torch

OUT = Path(sys.argv[1])

model = factories.bare().eval()
torch.manual_seed(9)
images = torch.rand(3, 3, 12, 8) * 2 - 1
with torch.no_grad():
    for name in ("net.pt2", "factory"):
        np.savez(OUT / f"{name}.npz", x0=images.numpy(), y0=model(images).numpy())
    tall = torch.rand(3, 3, 16, 8) * 2 - 1
    np.savez(OUT / "open.pt2.npz", x0=tall.numpy(), y0=model(tall).numpy())
batch, height = torch.export.Dim("batch"), torch.export.Dim("height", min=8, max=64)
torch.export.save(torch.export.export(model, (images[:2],), dynamic_shapes=({0: batch},)), OUT / "net.pt2")
shapes = ({0: batch, 2: height},)
torch.export.save(torch.export.export(model, (images[:2],), dynamic_shapes=shapes), OUT / "open.pt2")


class Expanded(torch.nn.Module):
    """A model with a buffer that is in the file once and in the model eight times."""

    def __init__(self):
        super().__init__()
        self.register_buffer("offset", torch.ones(1, 1).expand(1, 8))

    def forward(self, x):
        return torch.relu(x + self.offset)


torch.export.save(torch.export.export(Expanded(), (torch.rand(1, 8),)), OUT / "expanded.pt2")
torch.save(model.state_dict(), OUT / "weights.pt")


class Program:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {OUT}/code-ran",)


def pickled():
    """Return the bytes of a file that runs a command when PyTorch loads it without checks."""
    data = io.BytesIO()
    torch.save(Program(), data)
    return data.getvalue()


def changed(name, members, extra=None):
    """Write a changed copy of open.pt2.

    ``members`` maps the end of a member's name to a function that returns its new bytes. ``extra`` has added members.
    """
    with zipfile.ZipFile(OUT / "open.pt2") as old, zipfile.ZipFile(OUT / name, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            for end, change in members.items():
                if member.endswith(end):
                    assert change(data) != data, name
                    data = change(data)
            new.writestr(member, data)
        root = old.namelist()[0].split("/")[0]
        for member, data in (extra or {}).items():
            new.writestr(f"{root}/{member}", data)


def with_text(old, new):
    """Return the argument ``members`` of ``changed`` that replaces the text ``old`` in model.json."""
    return {"models/model.json": lambda data: data.replace(old.encode(), json.dumps(new)[1:-1].encode())}


RUN = f"__import__('os').system('touch {OUT}/code-ran')"
changed("inputs.pt2", {"sample_inputs/model.pt": lambda _: pickled()})
changed("expression.pt2", with_text("Symbol(", f"{RUN} + Symbol("))
guarded = {"models/model.json": lambda data: json.dumps(json.loads(data) | {"guards_code": [RUN]}).encode()}
changed("guard.pt2", guarded)
changed("operator.pt2", with_text("torch.ops.aten.conv2d.default", "torch.serialization.os.system"))
changed("file.pt2", with_text("torch.ops.aten.conv2d.default", "torch.ops.aten.from_file.default"))
constants = {
    "config": {"k": {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}
}
changed(
    "constant.pt2",
    {"model_constants_config.json": lambda _: json.dumps(constants).encode()},
    {"data/constants/opaque_obj_0": pickle.dumps(Program())},
)


def without_strides(data):
    """Return the description of the weights with large tensors, all of whose values are the same one of the file."""
    weights = json.loads(data)
    for weight in weights["config"].values():
        meta = weight["tensor_meta"]
        meta["sizes"] = [{"as_int": 8000} for _ in meta["sizes"]]
        meta["strides"] = [{"as_int": 0} for _ in meta["sizes"]]
    return json.dumps(weights).encode()


changed("stretched.pt2", {"model_weights_config.json": without_strides})
changed("wide.pt2", {"models/model.json": lambda data: data.replace(b'"as_int": 8}', b'"as_int": 80000000}')})
changed("library.pt2", {}, {"data/aotinductor/model/model.so": b"ELF"})
changed("large.pt2", {})
with zipfile.ZipFile(OUT / "large.pt2", "a") as archive:
    archive.writestr("open/data/weights/weight_90", b"")
    archive.getinfo("open/data/weights/weight_90").file_size = 3 << 30
