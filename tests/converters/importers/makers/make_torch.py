"""Write torch.export programs with inputs and outputs, and a checkpoint, to the folder given as argument."""

import sys
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
torch.save(model.state_dict(), OUT / "weights.pt")
