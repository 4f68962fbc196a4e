"""The folder of a fine-tuned Hugging Face model: as transformers writes it, with run.json and the history beside."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heedful.models.pretrained.files import quiet
from heedful.runs.checksums import write_checksums
from heedful.runs.folders import Files, files_in
from heedful.runs.run_file import RUN_FILE, RunFile, versions
from heedful.runs.trained_files import write_history
from heedful.settings import key_of
from heedful.training.finetuned import Finetuned

WHOLE = "1TB"
"""Weights are written as one file up to this size."""


def describe_finetuned(finetuned: Finetuned) -> RunFile:
    """What run.json of a fine-tuned model holds."""
    import transformers

    table: Any = finetuned.module.get_input_embeddings()
    return RunFile(
        run=finetuned.run,
        labels=finetuned.labels,
        has_query=finetuned.has_query,
        embed_size=table.embedding_dim,
        chosen_epoch=finetuned.chosen_epoch,
        scores={split: dict(scores) for split, scores in finetuned.scores.items()},
        seconds=finetuned.seconds,
        notes=finetuned.notes,
        coverage=None,
        versions={**versions(), "transformers": transformers.__version__},
    )


def write_finetuned(finetuned: Finetuned, folder: Path) -> None:
    """Write the model's files into a folder, which transformers' `from_pretrained` then loads, and their checksums."""
    with quiet():
        finetuned.module.save_pretrained(folder, max_shard_size=WHOLE)
        finetuned.tokenizer.save_pretrained(folder)
    for path in folder.glob("*.safetensors"):
        _readable_by_all(path)
    (folder / RUN_FILE).write_text(describe_finetuned(finetuned).model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_history(finetuned.history, folder)
    write_checksums(folder)


def pack_finetuned(finetuned: Finetuned) -> Files:
    """The files that a fine-tuned model is stored as."""
    with TemporaryDirectory() as parent:
        folder = Path(parent) / key_of(finetuned.run)
        folder.mkdir()
        write_finetuned(finetuned, folder)
        return files_in(folder)


def _readable_by_all(path: Path) -> None:
    """Write a file anew: the library's own way makes one that nobody else may read."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
