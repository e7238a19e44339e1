"""Curricula side by side: the same model, trainer, compute, random seeds and held-out suites; one table and figures.

    plan ─► one process per run: train, evaluate every N steps ─► series per run ─► table, figures

A comparison is a directory. Runs that are finished are never repeated; one that was stopped resumes.
"""
