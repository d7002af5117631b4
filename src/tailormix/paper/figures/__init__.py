"""The figures of the paper, one file each: ``make(settings, runs, out)`` draws and returns the numbers."""
