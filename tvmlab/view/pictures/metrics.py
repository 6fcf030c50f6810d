from .graph import draw, LABEL
LABEL = "metrics"
