"""The lists that Python and the kernels share."""
