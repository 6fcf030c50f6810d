"""What a program will do, told without running it: counts, footprints, rooflines, reasons. Imports core only."""
