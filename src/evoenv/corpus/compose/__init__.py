"""The author: chains of parts, programs made of them, worked answers."""
