"""Cut small JSON extracts from the reference fixtures: `HEEDFUL_GOLDEN=... python tests/golden/make_extracts.py`.

The fixtures are what the authors' own code computed (see `provenance` in each file). An extract keeps four texts, the
embedding rows they use, all other weights, and the float64 results.
"""

import json
import os
from pathlib import Path

import numpy as np

RESULTS = ["attn_f64", "logit_f64", "yhat_f64", "grad_raw_XxE[X]_f64", "loo_out_f64", "emax_jsd_eps0.01_f64"]
PROVENANCE = (
    "successar/AttentionExplanation at 425a89a, run on torch 2.13.0 in float64 with its float32 weights; SST test "
    "texts, 8-epoch model, embedding 32, hidden 16; cut by tests/golden/make_extracts.py"
)


def short(array: np.ndarray) -> list:
    """Nested lists of the fewest digits that give the same float32 again."""
    return [short(row) for row in array] if array.ndim else float(str(array))


def extract(path: Path) -> dict:
    """Four texts of different lengths, with ids renumbered to the embedding rows that are kept."""
    stored = np.load(path)
    rows = np.argsort(stored["lengths"], kind="stable")[[0, 20, 40, 50]]
    longest = int(stored["lengths"][rows].max())
    used, ids = np.unique(stored["X"][rows, :longest], return_inverse=True)
    weights = {name: stored[name] for name in stored.files if name.startswith(("enc.", "dec."))}
    weights["enc.embedding.weight"] = stored["enc.embedding.weight"][used]
    results = {name: stored[name][rows, :longest] if stored[name].ndim > 1 else stored[name][rows] for name in RESULTS}
    return {
        "provenance": PROVENANCE,
        "X": ids.reshape(len(rows), longest).tolist(),
        "lengths": stored["lengths"][rows].tolist(),
        "weights": {name: short(array) for name, array in weights.items()},
        "results": {name: array.tolist() for name, array in results.items()},
    }


if __name__ == "__main__":
    for name in ("jw_sst_tiny_lstm", "jw_sst_tiny_average"):
        source = Path(os.environ["HEEDFUL_GOLDEN"]) / f"{name}.npz"
        target = Path(__file__).with_name(f"{name}.json")
        target.write_text(json.dumps(extract(source)) + "\n", encoding="utf-8")
        print(target.name, target.stat().st_size)
