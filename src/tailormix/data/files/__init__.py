"""Files of data sets: where they lie, how they are fetched, unpacked and checked."""
