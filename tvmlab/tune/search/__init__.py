"""One search a file; the name of the file is its name."""
