"""Fronts for images: convolutions that skip zeros, fused with pooling, before evolved networks."""

from __future__ import annotations

from evonet.images.front import ConvFront, LayerCounts
from evonet.images.layers import Conv, Pool
from evonet.images.learning import FrontLearner, LearnedFront, learn
from evonet.images.spec import front_from_table

__all__ = [
    "Conv",
    "ConvFront",
    "FrontLearner",
    "LayerCounts",
    "LearnedFront",
    "Pool",
    "front_from_table",
    "learn",
]
