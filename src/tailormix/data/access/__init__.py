"""Access to loaded data: splits, augmentation in batches, windows, streams."""
