"""How to compute it: schedules as immutable traces of primitive applications."""
