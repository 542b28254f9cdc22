"""What several tests need: configs, strategies, runs of the command line and of kernels."""
