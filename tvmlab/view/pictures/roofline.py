from .graph import draw, LABEL
LABEL = "roofline"
