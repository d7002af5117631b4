"""Compares what a block printed with what the page says it prints."""

from __future__ import annotations

import math
import re

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
PIECES = re.compile(rf"(\.\.\.|\s+|{NUMBER})")


def same(printed: str, promised: str, tolerance: float = 0.0) -> bool:
    """Whether both agree but for white space; numbers up to the tolerance; ``...`` promises anything.

    >>> same("ECE 0.051, 3", "ECE 0.05, 3", tolerance=0.01), same("ECE 0.08", "ECE 0.05", tolerance=0.01)
    (True, False)
    >>> same("a b c", "a ... c"), same("a b c", "a ... d"), same("0.51", "0.5")
    (True, False, False)
    """
    pieces = [piece for piece in PIECES.split(promised.strip()) if piece]
    pattern = "".join(_pattern(piece, tolerance) for piece in pieces)
    match = re.fullmatch(pattern, printed.strip(), flags=re.DOTALL)
    if match is None:
        return False
    expected = [piece for piece in pieces if re.fullmatch(NUMBER, piece)]
    return all(
        math.isclose(float(value), float(wanted), rel_tol=0, abs_tol=tolerance + 1e-9)
        for value, wanted in zip(match.groups(), expected if tolerance else [], strict=True)
    )


def _pattern(piece: str, tolerance: float) -> str:
    if piece == "...":
        return ".*?"
    if piece.isspace():
        return r"\s+"
    return f"({NUMBER})" if tolerance and re.fullmatch(NUMBER, piece) else re.escape(piece)
