"""Where users of other libraries find evonet: one package per library."""
