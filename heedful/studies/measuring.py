"""A measurement of a study, done by a worker that shares no disk with us."""

import json
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from heedful.jobs.running import Task, ticker
from heedful.jobs.work import load_data
from heedful.store.folders import Files, write_files
from heedful.store.run_file import read_run_file
from heedful.studies.measurements import Measure, MeasuredRun, measurement_problem, pack_measurement


def task_of(measured: MeasuredRun, folder: Path) -> Task:
    """What a worker is asked to do once the run is there, and where the answer is stored."""
    function = partial(measure_run, measured.measurement.function)
    return Task(folder / measured.key, (measured.run,), function, measured.description(), measurement_problem)


def measure_run(
    function: Measure, description: str, key: str, device: str, needs: tuple[str, ...], files: Files
) -> Files:
    """What a worker does: measure the run that these files hold, on one thread, and hand back the folder's files."""
    tick, began = ticker(key), time.perf_counter()
    torch.set_num_threads(1)
    asked = json.loads(description)
    with TemporaryDirectory() as parent:
        folder = Path(parent) / needs[0]
        write_files(files, folder)
        _, dataset = load_data(read_run_file(folder).run)
        rows = function(folder, dataset, asked["settings"], lambda done, texts: tick("measuring", done, texts))
    return pack_measurement(rows, asked, time.perf_counter() - began)
