"""The report on runs: what their folders hold, grouped, in tables and figures, on one page."""
