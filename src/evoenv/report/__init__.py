"""The audit of a run: figures, tables and one HTML file that works offline.

    summary = write_report(run_directory, run_directory / "report")

`reading` takes the run out of its store, `figures` turns it into charts (plain data), `svg` and `png` draw them,
`details` chooses the texts to embed, `page` puts the HTML together, `write` leaves the files.
"""
