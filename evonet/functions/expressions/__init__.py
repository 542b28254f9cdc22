"""Custom functions: from text or Python to a tree, and to code for every backend.

    text, function ─parse─> ExpressionNode ─lower─> ExpressionSteps ─> NumPy | program | CUDA source

Only the parser sees what people write. It builds a tree from an allow-list, and everything after it
is made from the tree; user input is never evaluated or pasted.
"""
