"""The texts that the model reads, one file per version, and what fills them: one module per role."""
