"""The figures of the paper, one file each: ``make(settings, runs, out)`` draws and returns the numbers.

``settings`` are the figure's own, ``runs`` is the folder below which finished runs lie, ``out`` takes the
pictures. The facts that come back are what is drawn, ready for JSON.
"""
