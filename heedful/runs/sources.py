"""What a stored run makes Heedful read. Runs may come from strangers, so the reader is warned before it is read.

Nothing is used of it unless its content has the fingerprint that the run was trained on (`worker.load_data`): who wrote
the run must have known the content. To read something else, name it: `heedful audit DATA --model KEY`.
"""

from pathlib import Path

from heedful.data import DATASETS, named_sets
from heedful.data.sources.hub import PREFIX
from heedful.settings import Run

OTHER_DATA = "To read other data, give DATA."
"""What to do instead, for a command that takes data."""


def recorded_source(run: Run, instead: str = OTHER_DATA) -> str | None:
    """What a stored run says is to be read, in words; None where nothing is, for Heedful generates the texts.

    Args:
        instead: a sentence on what to do where that is not wanted.

    >>> from heedful.settings import DataSettings
    >>> recorded_source(Run(data=DataSettings(source="hub:owner/name")))
    'run.json names hub:owner/name: the Hugging Face hub is asked for it. To read other data, give DATA.'
    """
    source = run.data.source
    if source in DATASETS:
        return None
    if source.startswith(PREFIX) and not Path(source.removeprefix(PREFIX)).is_absolute():
        what = f"{source}: the Hugging Face hub is asked for it"
    elif source in named_sets():
        what = f"the data set {source}: it is read from the data folder"
    else:
        what = f"{source}: it is read from {Path(source.removeprefix(PREFIX)).expanduser().absolute()}"
    return f"run.json names {what}. {instead}"
