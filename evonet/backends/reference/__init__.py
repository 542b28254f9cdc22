"""The reference backend: all computations in plain NumPy, slow and readable, as a test oracle."""
