"""Activations, aggregations and losses: built in and custom."""
