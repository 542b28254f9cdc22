"""Schedules: the order in which the nodes of every genome can be computed."""
