"""Gymnasium environments, of which only those are stepped whose episode is running."""
