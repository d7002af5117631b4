"""Features of a pretrained backbone: what is encoded, by which model, and how it is written to a file."""
