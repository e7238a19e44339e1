"""How far the prompts of a pool overlap with the problems of a benchmark: by n-grams of words and by embeddings."""
