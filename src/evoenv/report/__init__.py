"""The audit of a run: figures, tables and one HTML file that works offline.

    summary = write_report(run_directory, run_directory / "report")

`reading` takes the run out of its store and chooses the texts to embed, `figures` and `pool_figures` turn it into
`charts` (plain data), `svg` and `png` draw them, `page` puts the HTML together, `write` leaves the files.
"""
