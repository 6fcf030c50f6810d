"""What to compute: tensors as immutable expressions over their axes."""
