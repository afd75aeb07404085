"""Build and train the random networks of PyTorch: ``torch_networks.py NETWORKS.json DATA_FOLDER OUT_FOLDER``.

NETWORKS.json has a list of descriptions (``Network.to_json``). The data of a task is in DATA_FOLDER/TASK.train.npz,
with pictures in NHWC. For each network NAME, OUT_FOLDER gets NAME.pt2, whose pictures are NCHW, NAME.trained.json, and
the outputs for the test samples, NAME.outputs.npz.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

EPOCHS, BATCH, RATE = 8, 64, 0.004
#: Training ends after this time of the processor, in seconds, even if epochs remain.
MAX_SECONDS = 15.0
VOCABULARY = 24


def activation(name: Any, axis: Any) -> Any:
    """Return the module of an activation. ``axis`` is the axis of the channels."""
    if name in ("GLU", "Softmax", "Softmin", "LogSoftmax"):
        return getattr(nn, name)(axis)
    if name == "Threshold":
        return nn.Threshold(0.1, -0.2)
    if name == "GELU_tanh":
        return nn.GELU("tanh")
    if name == "CELU":
        return nn.CELU(1.5)
    if name == "linear":
        return nn.Identity()
    return getattr(nn, name)()


def widened(name: Any, filters: Any) -> Any:
    """Return the number of features before the activation, of which GLU leaves half."""
    return 2 * filters if name == "GLU" else filters


class ChannelNorm(nn.Module):  # type: ignore[misc]
    """A layer normalization over the channels of NCHW tensors."""

    def __init__(self, channels: Any) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Any) -> Any:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def norm(name: Any, channels: Any, rank: Any) -> Any:
    """Return the module of the normalization ``name``. ``rank`` is the number of dimensions of its input."""
    if name == "batch":
        return {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}[rank](channels)
    if name == "layer" and rank == 2:
        return nn.LayerNorm(channels)
    if name == "layer" and rank == 4:
        return ChannelNorm(channels)
    if name in ("group", "layer"):
        return nn.GroupNorm(4 if channels % 4 == 0 else 1, channels)
    return nn.Identity()


def convolution(block: Any, channels: Any, stride: Any = None, **options: Any) -> Any:
    """Return a convolution with normalization and activation on NCHW."""
    filters, kernel = widened(block["activation"], block["filters"]), block.get("kernel", 3)
    stride = block.get("stride", 1) if stride is None else stride
    padding = kernel // 2 * options.get("dilation", 1)
    return nn.Sequential(
        nn.Conv2d(channels, filters, kernel, stride, padding, **options),
        norm(block["norm"], filters, 4),
        activation(block["activation"], 1),
    )


class Residual(nn.Module):  # type: ignore[misc]
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return x + self.inner(x)


class Excite(nn.Module):  # type: ignore[misc]
    def __init__(self, channels: Any) -> None:
        super().__init__()
        self.gate = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Any) -> Any:
        return x * torch.sigmoid(self.gate(functional.adaptive_avg_pool2d(x, 1)))


class Branches(nn.Module):  # type: ignore[misc]
    def __init__(self, *parts: Any) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Any) -> Any:
        return torch.cat([part(x) for part in self.parts], 1)


class Reduce(nn.Module):  # type: ignore[misc]
    """Reduces the steps of a sequence, or the positions of a picture, to one vector."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Any) -> Any:
        if self.kind in ("global average", "global max"):
            return x.mean((2, 3)) if self.kind == "global average" else x.amax((2, 3))
        if self.kind == "last step":
            return x[:, -1]
        return x.mean(1) if self.kind == "mean of steps" else x.amax(1)


def picture_block(block: Any, channels: Any) -> Any:
    kind = block["kind"]
    if kind == "depthwise":
        filters = widened(block["activation"], block["filters"])
        return nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 3, block["stride"], 1, groups=channels),
            norm(block["norm"], 2 * channels, 4),
            nn.Conv2d(2 * channels, filters, 1),
            activation(block["activation"], 1),
        )
    if kind == "residual":
        inner = convolution({**block, "kernel": 3}, channels, stride=1)
        return Residual(nn.Sequential(inner, nn.Conv2d(block["filters"], channels, 3, 1, 1)))
    if kind == "inverted":
        filters = 2 * block["filters"]
        return nn.Sequential(
            convolution({**block, "kernel": 1, "filters": filters}, channels, stride=1),
            nn.Conv2d(filters, filters, 3, block["stride"], 1, groups=filters),
            nn.Conv2d(filters, block["filters"], 1),
            nn.BatchNorm2d(block["filters"]),
        )
    if kind == "excite":
        return nn.Sequential(convolution(block, channels), Excite(block["filters"]))
    if kind == "branches":
        pool = nn.MaxPool2d(3, block["stride"], 1)
        return Branches(convolution({**block, "kernel": 1}, channels), convolution(block, channels), pool)
    if kind == "dilated":
        return convolution({**block, "kernel": 3}, channels, stride=1, dilation=2)
    if kind == "grouped":
        return convolution(
            block, channels, groups=4 if channels % 4 == 0 and block["filters"] % 4 == 0 else 1
        )
    if kind == "conv":
        return convolution(block, channels)
    if kind == "average pool":
        return nn.AvgPool2d(2)
    if kind == "padded max pool":
        return nn.MaxPool2d(3, 2, 1)
    if kind == "max pool":
        return nn.MaxPool2d(2)
    return Reduce(kind)


class Recurrent(nn.Module):  # type: ignore[misc]
    """One recurrent layer. PyTorch has only one form of the GRU."""

    def __init__(self, block: Any, features: Any) -> None:
        super().__init__()
        kind = {"lstm": nn.LSTM, "rnn": nn.RNN}.get(block["kind"], nn.GRU)
        self.layer = kind(features, block["units"], batch_first=True, bidirectional=block["both ways"])

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]


class Embedded(nn.Module):  # type: ignore[misc]
    def __init__(self, block: Any, shape: Any) -> None:
        super().__init__()
        tokens = block["kind"] == "embedding"
        self.first = (
            nn.Embedding(VOCABULARY, block["width"]) if tokens else nn.Linear(shape[-1], block["width"])
        )
        self.position = nn.Parameter(0.1 * torch.randn(shape[1], block["width"]))

    def forward(self, x: Any) -> Any:
        return self.first(x) + self.position


class Transformer(nn.Module):  # type: ignore[misc]
    def __init__(self, block: Any, width: Any) -> None:
        super().__init__()
        hidden = widened(block["activation"], block["hidden"])
        self.first = block["norm first"]
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, block["heads"], batch_first=True)
        self.dense = nn.Sequential(
            nn.Linear(width, hidden), activation(block["activation"], -1), nn.Linear(block["hidden"], width)
        )

    def forward(self, x: Any) -> Any:
        if self.first:
            y = self.norms[0](x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.dense(self.norms[1](x))
        x = self.norms[0](x + self.attention(x, x, x, need_weights=False)[0])
        return self.norms[1](x + self.dense(x))


class ConvSteps(nn.Module):  # type: ignore[misc]
    def __init__(self, block: Any, features: Any) -> None:
        super().__init__()
        filters = widened(block["activation"], block["filters"])
        self.layers = nn.Sequential(
            nn.Conv1d(features, filters, 3, padding=1),
            norm(block["norm"], filters, 3),
            activation(block["activation"], 1),
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x.transpose(1, 2)).transpose(1, 2)


def block_of(block: Any, shape: Any) -> Any:
    """Return the module of a block whose input has ``shape``, with the batch."""
    kind = block["kind"]
    if kind == "dense":
        units = widened(block["activation"], block["units"])
        return nn.Sequential(
            nn.Linear(shape[-1], units), norm(block["norm"], units, 2), activation(block["activation"], -1)
        )
    if kind == "flatten":
        return nn.Flatten()
    if len(shape) == 4:
        return picture_block(block, shape[1])
    if kind in ("embedding", "project"):
        return Embedded(block, shape)
    if kind == "transformer":
        return Transformer(block, shape[-1])
    if kind == "conv steps":
        return ConvSteps(block, shape[-1])
    if "step" in kind:
        return Reduce(kind)
    return Recurrent(block, shape[-1])


class Up(nn.Module):  # type: ignore[misc]
    """One step of a U-Net's way up, with the features ``skip`` of the way down."""

    def __init__(self, block: Any, channels: Any, skipped: Any) -> None:
        super().__init__()
        self.by, self.merge = block["by"], block["merge"]
        if self.by == "transposed":
            self.layer = nn.ConvTranspose2d(channels, skipped, 2, 2)
        else:
            self.layer = nn.Conv2d(channels, skipped, 3, 1, 1)
        self.last = convolution(block, skipped if self.merge == "add" else 2 * skipped)

    def forward(self, x: Any, skip: Any) -> Any:
        if self.by == "transposed":
            x = self.layer(x)
        else:
            x = self.layer(functional.interpolate(x, scale_factor=2, mode=self.by))
        return self.last(x + skip if self.merge == "add" else torch.cat([x, skip], 1))


class UNet(nn.Module):  # type: ignore[misc]
    def __init__(self, blocks: Any, channels: Any) -> None:
        super().__init__()
        self.downs, self.pools, self.ups = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        skipped = []
        for block in blocks:
            if block["kind"] == "down":
                self.downs.append(convolution(block, channels))
                channels = block["filters"]
                skipped.append(channels)
                pools = {"max": nn.MaxPool2d(2), "average": nn.AvgPool2d(2)}
                self.pools.append(pools.get(block["pool"]) or nn.Conv2d(channels, channels, 3, 2, 1))
            elif block["kind"] == "up":
                self.ups.append(Up(block, channels, skipped.pop()))
                channels = block["filters"]
            elif block["kind"] == "pixel classes":
                self.last = nn.Conv2d(channels, 3, 1)
            else:
                self.middle = convolution(block, channels)
                channels = block["filters"]

    def forward(self, x: Any) -> Any:
        skipped = []
        for down, pool in zip(self.downs, self.pools, strict=True):
            x = down(x)
            skipped.append(x)
            x = pool(x)
        x = self.middle(x)
        for up in self.ups:
            x = up(x, skipped.pop())
        return self.last(x)


class Network(nn.Module):  # type: ignore[misc]
    def __init__(self, network: Any, examples: Any, sizes: Any) -> None:
        super().__init__()
        self.trunks, features = nn.ModuleList(), []
        for trunk, x in zip(network["trunks"], examples, strict=True):
            parts = []
            if network["kind"] == "u-net":
                parts.append(UNet(trunk, x.shape[1]))
                x = parts[-1](x)
            else:
                for block in trunk:
                    parts.append(block_of(block, x.shape))
                    x = parts[-1](x)
            self.trunks.append(nn.Sequential(*parts))
            features.append(x)
        x = torch.cat(features, 1) if len(features) > 1 else features[0]
        self.head = nn.Sequential()
        for block in network["head"]:
            self.head.append(block_of(block, x.shape))
            x = self.head(torch.cat(features, 1) if len(features) > 1 else features[0])
        kinds = network["outputs"]
        self.lasts = nn.ModuleList(
            nn.Identity() if kind == "class map" else nn.Linear(x.shape[-1], size)
            for kind, size in zip(kinds, sizes, strict=True)
        )

    def forward(self, *inputs: Any) -> Any:
        features = [trunk(x) for trunk, x in zip(self.trunks, inputs, strict=True)]
        x = self.head(torch.cat(features, 1) if len(features) > 1 else features[0])
        outputs = tuple(last(x) for last in self.lasts)
        return outputs[0] if len(outputs) == 1 else outputs


def loss_of(kind: Any, output: Any, y: Any) -> Any:
    return functional.mse_loss(output, y) if kind == "values" else functional.cross_entropy(output, y)


def train(network: Any, data: Any, folder: Any) -> None:
    """Train ``network`` on ``data``, and write its files to ``folder``."""
    torch.manual_seed(network["number"])
    inputs = []
    for i in range(len(network["trunks"])):
        x = torch.tensor(data[f"x{i}"])
        x = x.permute(0, 3, 1, 2).contiguous() if x.ndim == 4 else x
        inputs.append(x)
    targets = [torch.tensor(data[f"y{k}"]) for k in range(len(network["outputs"]))]
    sizes = [
        y.shape[1] if kind == "values" else int(y.max()) + 1
        for kind, y in zip(network["outputs"], targets, strict=True)
    ]
    model = Network(network, [x[:4] for x in inputs], sizes)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    start = time.process_time()
    for _ in range(3 * EPOCHS if network["kind"] == "recurrent" else EPOCHS):
        order = torch.randperm(len(inputs[0]))
        for rows in order.split(BATCH):
            if time.process_time() - start > MAX_SECONDS:
                break
            outputs = model(*(x[rows] for x in inputs))
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            losses = [
                loss_of(kind, o, y[rows])
                for kind, o, y in zip(network["outputs"], outputs, targets, strict=True)
            ]
            loss = torch.stack(losses).sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    record = {
        "seconds": time.process_time() - start,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    with np.load(folder / f"{network['task']}.test.npz") as test:
        names = [f"x{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))]
        samples = [torch.tensor(test[name]) for name in names]
    with torch.no_grad():
        results = model.eval()(*(x.permute(0, 3, 1, 2) if x.ndim == 4 else x for x in samples))
    results = results if isinstance(results, tuple) else (results,)
    np.savez(folder / f"{network['name']}.outputs.npz", **{f"y{k}": y.numpy() for k, y in enumerate(results)})
    program = torch.export.export(model.eval(), tuple(x[:1] for x in inputs))
    torch.export.save(program, folder / f"{network['name']}.pt2")
    (folder / f"{network['name']}.trained.json").write_text(json.dumps(record))


if __name__ == "__main__":
    torch.set_num_threads(1)
    out = Path(sys.argv[3])
    for description in json.loads(Path(sys.argv[1]).read_text()):
        with np.load(Path(sys.argv[2]) / f"{description['task']}.train.npz") as file:
            train(description, dict(file), out)
        print(description["name"], flush=True)
