"""Mixup in the training loops of other libraries. Each module needs the package of its name."""
