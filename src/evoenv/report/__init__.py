"""The audit of a run: figures, tables and one HTML file that works offline.

    summary = write_report(run_directory, run_directory / "report")

`reading` takes the run out of its store, `overview` puts it into words, `figures` and `pool_figures` turn it into
`charts` (plain data), which `png` paints. `page` chooses the texts to embed and puts them, with all documents of the
page of `evoenv watch`, into one HTML file; `audit` adds the words and the figures. `write` leaves the files.
"""
