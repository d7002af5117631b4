__all__ = ["__version__"]

from .version import __version__
