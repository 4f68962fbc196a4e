"""Bad sweep files: tables, lists and values where others must stand, and more runs than anybody can wait for."""

import pytest

from heedful.errors import HeedfulError
from heedful.jobs.sweep_file import read_sweep
from support.refusals import assert_refused

SMALL = 'data.source = "mock-1"\ndata.train_limit = 20\ntraining.epochs = 1\n'
FOUR_PLACES = ("seed", "text.min_count", "text.max_tokens", "network.hidden_size")
GRIDS = {
    "empty": "",
    "blank": "\n\n",
    "comment": "# nothing\n",
    "no toml": "this is not TOML",
    "unclosed": SMALL + "[grid\nseed = [0]",
    "twice": SMALL + "seed = 1\nseed = 2\n",
    "runs a number": SMALL + "runs = 5\n",
    "runs a table": SMALL + "[runs]\nseed = 1\n",
    "runs empty": SMALL + "runs = []\n",
    "runs of numbers": SMALL + "runs = [1, 2]\n",
    "runs of lists": SMALL + "runs = [[1], [2]]\n",
    "grid a list": SMALL + "grid = [1, 2]\n",
    "grid a number": SMALL + "grid = 5\n",
    "grid a word": SMALL + 'grid = "seed"\n',
    "grid of a number": SMALL + "[grid]\nseed = 1\n",
    "grid of nothing": SMALL + "[grid]\nseed = []\n",
    "grid of tables": SMALL + "[grid]\nseed = [{a = 1}]\n",
    "grid of words": SMALL + '[grid]\nseed = ["a"]\n',
    "unknown part": SMALL + "[networks]\nhidden_size = 4\n",
    "unknown setting": SMALL + "network.hiden_size = 4\n",
    "unknown setting in grid": SMALL + '[grid]\n"network.hiden_size" = [4]\n',
    "unknown encoder": SMALL + 'network.encoder = "bilsmt"\n',
    "unknown method": SMALL + 'training.method = "nonsense"\n',
    "unknown option": SMALL + "training.options.radus = 1\n",
    "unknown metric": SMALL + 'training.metric = "nonsense"\n',
    "unknown source": 'data.source = "nowhere.csv"\n',
    "in both": SMALL + "runs = [{seed = 1}]\n[grid]\nseed = [1, 2]\n",
    "infinite": SMALL + "network.temperature = inf\n",
    "not a number": SMALL + "network.temperature = nan\n",
    "a date": SMALL + "seed = 2020-01-01\n",
    "no seed": SMALL + "seed = 1.5\n",
    "seed too large": SMALL + "seed = 9223372036854775808\n",
    "digits": SMALL + "seed = " + "9" * 5_000 + "\n",
    "deep": SMALL + "seed = " + "[" * 5_000 + "\n",
    "deep tables": SMALL + "[" + ".".join("a" * 3_000) + "]\n",
    "endless epochs": SMALL.replace("epochs = 1", "epochs = 99999999999"),
    "many": SMALL + "[grid]\n" + "\n".join(f'"{place}" = {list(range(1, 30))}' for place in FOUR_PLACES),
    "too many": SMALL + "[grid]\n" + "\n".join(f'"training.options.o{n}" = [1, 2, 3, 4]' for n in range(40)),
    "no base": SMALL + 'training.method = "seat"\n',
    "base of nothing": SMALL + 'training.method = "seat"\nreference = "abc"\n',
    "base a number": SMALL + 'training.method = "seat"\nreference = 5\n',
    "bad base": SMALL + '[reference]\ntraining.method = "nonsense"\n',
    "bad base setting": SMALL + "[reference]\nnetwork.hiden_size = 1\n",
    "audit a number": SMALL + "audit = 5\n",
    "audit of nothing": SMALL + "[audit]\nnonsense = 1\n",
    "audit of no test": SMALL + '[audit]\ntests = ["nonsense"]\n',
    "audit of no texts": SMALL + "[audit]\nexamples = 0\n",
    "audit by no option": SMALL + "[audit]\noptions.permutation.cuont = 1\n",
    "latin": b'data.source = "caf\xe9"\n',
    "binary": bytes(range(256)),
}


LATER = ("unknown source", "base of nothing")
"""What shows only where the data is read, or the store."""


def write(path, content):
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content, encoding="utf-8")
    return path


def test_no_bad_grid_is_read(tmp_path):
    taken = []
    for name, content in GRIDS.items():
        try:
            read_sweep(write(tmp_path / "sweep.toml", content))
            taken.append(name)
        except HeedfulError as error:
            assert str(error).strip()
    assert taken == [*LATER]
    assert read_sweep(write(tmp_path / "sweep.toml", f"{SMALL}[grid]\nseed = [0, 1]\n")).runs


@pytest.mark.parametrize("flags", [[], ["--dry-run"]], ids=["do", "dry"])
@pytest.mark.parametrize("name", [*LATER, "binary"])
def test_no_bad_grid_is_started(name, flags, tmp_path):
    path = write(tmp_path / "sweep.toml", GRIDS[name])
    assert_refused(["sweep", path, "--runs", tmp_path / "runs", "--workers", "1", *flags])
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
