"""Very wide output levels, trained on the few nodes that would fire."""
