"""Models of the paper and CPU-sized ones; each names its embedding layer and its mixing stages."""

from tailormix.models.lstnet import LSTNet
from tailormix.models.mlp import FCN3, MLP
from tailormix.models.mobilenet import MobileNetV2
from tailormix.models.registry import MODELS, Model, build, shape_arguments
from tailormix.models.resnet import ResNet
from tailormix.models.text_encoder import TextEncoder
from tailormix.models.timm_models import timm_model
from tailormix.models.vit import VisionTransformer, vit_s16, vit_tiny

__all__ = [
    "FCN3",
    "MLP",
    "MODELS",
    "LSTNet",
    "MobileNetV2",
    "Model",
    "ResNet",
    "TextEncoder",
    "VisionTransformer",
    "build",
    "shape_arguments",
    "timm_model",
    "vit_s16",
    "vit_tiny",
]
