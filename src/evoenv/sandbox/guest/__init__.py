"""What runs on the other side of the wall: standard library only, no import of the rest of EvoEnv."""
