"""Functions of one's own: text or Python, to a tree, to code for every backend.

    text, function ──parse──> Node ──lower──> Steps ──> NumPy | register program | CUDA source

Only the parser sees what people write. It builds a tree out of an allow-list, and everything behind
it is made from the tree; nothing is ever evaluated or pasted.
"""
