"""What a training step costs: time, passes and memory of every method, on this machine."""
