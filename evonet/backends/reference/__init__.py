"""The reference: the whole oracle in plain NumPy, slow and readable."""
