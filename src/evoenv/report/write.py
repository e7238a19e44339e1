"""The files of a report: one HTML page, and PNG and CSV of every figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from evoenv.durable import replace_file
from evoenv.environment.files import short
from evoenv.errors import InputError
from evoenv.pool.tags import seed_distance
from evoenv.report.charts import Cell, Figure, Table, csv_text
from evoenv.report.figures import figures_of
from evoenv.report.overview import Overview, overview_of
from evoenv.report.page import TEXT_BUDGET, collect, render
from evoenv.report.reading import RunData, read_run
from evoenv.runs.view import RunView
from evoenv.store.store import Store

PAGE_NAME = "index.html"
FIGURES = "figures"
NO_MATPLOTLIB = (
    "no PNG was drawn: matplotlib is not installed (pip install 'evoenv[report]'); the page and the CSV are whole"
)


@dataclass(frozen=True, slots=True)
class Report:
    """What was written."""

    page: Path
    size: int
    csv: tuple[Path, ...]
    png: tuple[Path, ...]
    entries: int
    embedded: int
    overview: Overview
    warning: str | None = None


def write_report(
    directory: Path, output: Path | None = None, text_budget: int = TEXT_BUDGET, *, pictures: bool = True
) -> Report:
    """Read the run in `directory`, as it is at this moment, and leave its report in `output` (`directory/report`).

    Without `pictures` no PNG is drawn; the page has its figures all the same.
    """
    output = directory / "report" if output is None else output
    with Store.read(directory) as store, store.snapshot():
        data = read_run(store)
        figures, overview = figures_of(data), overview_of(data)
        name = directory.resolve().name or "run"
        documents = collect(RunView(store), data, name, overview, figures, text_budget)
    folder = output / FIGURES
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tables = [_write(folder / f"{figure.key}.csv", csv_text(figure.table)) for figure in figures]
        tables.append(_write(output / "candidates.csv", csv_text(candidates_table(data))))
        drawn, warning = _pictures(figures, folder) if pictures else ([], None)
        page = _write(output / PAGE_NAME, render(name, documents))
    except OSError as error:
        raise InputError(
            f"cannot write the report into {output}: {error.strerror or error}; choose another place with -o"
        ) from error
    return Report(
        page=page,
        size=page.stat().st_size,
        csv=tuple(tables),
        png=tuple(drawn),
        entries=len(data.entries),
        embedded=sum(
            entry.id in documents["candidate"] or entry.id in documents["environment"] for entry in data.entries
        ),
        overview=overview,
        warning=warning,
    )


def write_page(directory: Path, path: Path, text_budget: int = TEXT_BUDGET) -> tuple[int, int, int]:
    """Write the page of a run alone; the bytes, the candidates, and those of them whose texts are inside.

    The run is only read: one of an older version is copied for it.
    """
    with TemporaryDirectory() as copies, Store.read_unchanged(directory, Path(copies)) as store, store.snapshot():
        data = read_run(store)
        name = directory.resolve().name or "run"
        documents = collect(RunView(store), data, name, overview_of(data), figures_of(data), text_budget)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        page = _write(path, render(name, documents))
    except OSError as error:
        raise InputError(f"cannot write {short(path)}: {error.strerror or error}; choose another place") from error
    return page.stat().st_size, documents["totals"]["candidate"], len(documents["candidate"])


def _pictures(figures: Sequence[Figure], folder: Path) -> tuple[list[Path], str | None]:
    for figure in figures:
        (folder / f"{figure.key}.png").unlink(missing_ok=True)  # a figure that has no data any more must not linger
    if find_spec("matplotlib") is None:
        return [], NO_MATPLOTLIB
    from evoenv.report.png import paint

    return [_write(folder / f"{figure.key}.png", paint(figure)) for figure in figures if figure.panels], None


def _write(path: Path, content: str | bytes) -> Path:
    replace_file(path, [content.encode("utf-8", "replace") if isinstance(content, str) else content])
    return path


def candidates_table(data: RunData) -> Table:
    """List every entry in one row."""
    seeds = data.seed_tags
    rows: list[tuple[Cell, ...]] = [
        (
            entry.id,
            entry.name,
            entry.environment_id,
            int(entry.original),
            entry.step,
            entry.state,
            entry.layer,
            entry.pass_rate,
            entry.asymmetry,
            entry.q_val,
            entry.diversity,
            entry.reward,
            entry.novelty.similarity if entry.novelty else None,
            entry.record.retired_step if entry.record else None,
            None if entry.consistent is None else int(entry.consistent),
            seed_distance(entry.tags, seeds) if entry.tags else None,
            len(entry.tags),
            " ".join(sorted(entry.tags)),
            " ".join(entry.codes),
            " ".join(entry.parents),
        )
        for entry in data.entries
    ]
    columns = (
        "id name environment original step state layer pass_rate asymmetry quality diversity reward similarity "
        "retired_step consistent d_seed tag_count tags findings parents"
    )
    return Table(tuple(columns.split()), rows)
