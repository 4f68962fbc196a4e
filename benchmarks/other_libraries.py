"""Interpreto and ferret on a Hugging Face classifier, timed: run by `benchmarks/peers.py` in an environment of theirs.

    python benchmarks/other_libraries.py MODEL_FOLDER TEXTS.json

Imports nothing of Heedful, whose dependencies may be in the way of theirs. Prints one JSON document: for each library
its version, the seconds of processor time of each method over all texts, or why there are none.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

del sys.path[0]  # where this file stands there is another `transformers`

Found = dict[str, object]


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def interpreto(folder: str, texts: list[str]) -> dict[str, float]:
    from interpreto import Granularity, IntegratedGradients, Occlusion, Saliency
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    times = {}
    for kind in (Occlusion, Saliency, IntegratedGradients):
        explainer = kind(model, tokenizer, granularity=Granularity.WORD)
        explainer(texts[0])  # warms up
        times[kind.__name__] = seconds(lambda explainer=explainer: [explainer(text) for text in texts])
    return times


def ferret(folder: str, texts: list[str]) -> dict[str, float]:
    from ferret import Benchmark, GradientExplainer
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    bench = Benchmark(model, tokenizer, explainers=[GradientExplainer(model, tokenizer, multiply_by_inputs=True)])
    explained = []
    gradients = seconds(lambda: explained.extend(bench.explain(text, target=1, show_progress=False) for text in texts))
    scored = seconds(lambda: [bench.evaluate_explanations(each, target=1, show_progress=False) for each in explained])
    return {"Gradient x Input": gradients, "comprehensiveness, sufficiency, tau": scored}


def attempt(package: str, run: Callable[[str, list[str]], dict[str, float]], folder: str, texts: list[str]) -> Found:
    try:
        found = version(package)
    except PackageNotFoundError:
        return {"error": "not installed"}
    try:
        return {"version": found, "seconds": run(folder, texts)}
    except Exception as error:  # whatever keeps it from running here is the finding
        return {
            "version": found,
            "error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
        }


def main() -> None:
    import torch

    torch.set_num_threads(1)
    folder, texts = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    found = {"interpreto": attempt("interpreto", interpreto, folder, texts)}
    found["ferret-xai"] = attempt("ferret-xai", ferret, folder, texts)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
