"""NEAT: species, reproduction, and the two verbs ask and tell."""
