"""Others who evaluate networks, to be timed beside evonet where they are installed."""
