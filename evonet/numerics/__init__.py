"""Numbers that are the same everywhere: random draws, exact sums, elementary functions."""
