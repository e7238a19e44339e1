"""Reading an environment back into parts, and whether its words ask for what its code computes."""
