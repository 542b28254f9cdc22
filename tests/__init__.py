"""Tests, in the tree that they test; campaigns and support beside them."""
