"""Lets lerobot run with a torch of another build than torchvision. Import this module before lerobot."""
import sys

import torch

# The compiled part of torchvision works with only one build of torch. Its code for images and films is Python, and only needs these two declarations.
try:
    import torchvision  # noqa: F401
except (RuntimeError, ImportError):
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
