"""Speed, as ratios against peers in one run: ``python -m benchmarks --help``."""
