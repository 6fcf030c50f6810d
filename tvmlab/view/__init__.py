"""What is seen: plain data for the front end, and still pictures."""
