"""The paper's tables and figures: the published numbers, the runs they take, and what those found."""
