"""From a scheduled state to loops, and from loops to better loops."""
