"""`heedful calibrate`: how often the answer is right in worlds whose truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heedful.cli import command_options
from heedful.cli.command_options import flag, option
from heedful.cli.output import make_table, output

if TYPE_CHECKING:
    from heedful.calibration.suite import Result


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(command_options.ClusterOptions):
    """The options of `heedful calibrate`."""

    draws: int = option("Draws of each row, of 300 texts each.", default=20, min=1, max=100_000)
    world: list[str] | None = option("Only the rows of this world; may be repeated. Default: all.", "--world")
    trained: bool = flag("Also train honest and deceptive models on `planted` and `reviews`.", "--trained")
    out: str = option("Folder for calibration.md.", default="calibration")


def calibrate(options: CalibrateOptions) -> None:
    """Test the answer itself: on good and bad attention, in worlds whose truth is known."""
    from heedful.calibration.calibration_page import (
        HEAD,
        TRAINED_HEAD,
        Calibration,
        headline,
        table_rows,
        trained_cells,
        write_page,
    )
    from heedful.calibration.suite import ROWS
    from heedful.calibration.suite import calibrate as calibrate_rows
    from heedful.calibration.trained_worlds import MODELS, SEEDS, calibrate_trained
    from heedful.calibration.worlds import WORLDS
    from heedful.cli.progress import Bars
    from heedful.errors import lookup
    from heedful.jobs.executors import open_pool

    printed = output()
    names = {lookup("world", name, WORLDS).name for name in options.world or WORLDS}
    rows = [number for number, row in enumerate(ROWS) if row.world in names]
    with open_pool(options.workers, options.scheduler) as pool, Bars(printed.progress) as bar:
        task = bar.add_task("draws", total=options.draws * len(rows))

        def report(done: "Sequence[Result]") -> None:
            for _ in done:
                bar.advance(task)

        tallies = calibrate_rows(options.draws, rows=rows, pool=pool, report=report)
        trained_rows = []
        if options.trained:
            models = bar.add_task("models", total=SEEDS * len(MODELS))
            trained_rows = calibrate_trained(pool=pool, report=lambda _: bar.advance(models))
    calibration = Calibration(tallies, options.draws, command_options.command_line(), trained_rows)
    printed.console.print(make_table(HEAD, table_rows(tallies)))
    if trained_rows:
        printed.console.print(make_table(TRAINED_HEAD, [trained_cells(row) for row in trained_rows]))
    printed.say(headline(calibration), *(f"  {missed}" for missed in calibration.missed))
    page = write_page(calibration, Path(options.out))
    printed.say(f"Written: {page}")
    printed.end({"page": str(page), "draws": options.draws, "missed": calibration.missed}, result=headline(calibration))
    if calibration.missed:
        raise typer.Exit(1)
