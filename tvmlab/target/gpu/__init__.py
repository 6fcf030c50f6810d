"""What the GPU targets share. Files: limits (what devices hold, and how many blocks run at once)."""
