__all__ = [
    "FCN3",
    "MLP",
    "MODELS",
    "LSTNet",
    "Model",
    "ResNet",
    "VisionTransformer",
    "build",
    "shape_arguments",
    "timm_model",
    "vit_s16",
    "vit_tiny",
]

from .build import build as build
from .build import shape_arguments as shape_arguments
from .catalogue import MODELS as MODELS
from .catalogue import Model as Model
from .fcn3 import FCN3 as FCN3
from .lstnet import LSTNet as LSTNet
from .mlp import MLP as MLP
from .resnet import ResNet as ResNet
from .timm_model import timm_model as timm_model
from .vit import VisionTransformer as VisionTransformer
from .vit import vit_s16 as vit_s16
from .vit import vit_tiny as vit_tiny
