"""The server and the environments behind it."""
