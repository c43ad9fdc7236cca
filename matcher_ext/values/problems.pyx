"""What can be wrong with an expression; errors.py says each of them in words."""
