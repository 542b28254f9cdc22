"""Other libraries that evaluate networks, timed beside evonet if they are installed."""
