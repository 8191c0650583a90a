"""Lets lerobot be imported beside a torch of another build than torchvision's: to be imported before it."""
import sys

import torch

# torchvision's compiled part goes with one build of torch alone. Its images and films are Python; it only wants these two to have been declared.
try:
    import torchvision  # noqa: F401
except (RuntimeError, ImportError):
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
