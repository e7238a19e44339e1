"""Deliberately broken variants of sound programs, each with a label."""
