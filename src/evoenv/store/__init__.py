"""The run's SQLite file: schema, migrations, journal, and all that a run leaves behind."""
