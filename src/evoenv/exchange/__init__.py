"""Verified environments travel: packed pools, imports, and exports to where people train."""
