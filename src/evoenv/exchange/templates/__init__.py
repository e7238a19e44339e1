"""Files that exports carry as they are, but for the loader of the scorer, which is put in where it is imported."""
