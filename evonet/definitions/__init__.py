"""The lists that several rooms share, or Python and the kernels."""
