"""From a model's name to a directory that loads: registry, fetch, cache; and the text encoder of novelty."""
