"""Heedful beside plain loops, captum, interpreto and ferret on a Hugging Face classifier."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import hugging_face
import torch
from peer_row import Row

from heedful.types import Dataset, Example

TEXTS = 8
LIBRARIES = ("interpreto", "ferret-xai")


def transformer_rows(folder: str, pythons: list[str]) -> Iterator[Row]:
    """A Hugging Face classifier: plain loops, captum, and the libraries that run in environments of their own."""
    model, dataset = hugging_face.open_subject(folder).opened, made_up_texts()
    words = median(len(example.tokens) for example in dataset.test)
    ours: dict[str, float] = {}
    for question, rival, own, other in hugging_face.peers(model, dataset, TEXTS):
        ours.setdefault(question, own)
        yield Row("transformers", question, rival, int(words), *(1e3 * each / TEXTS for each in (own, other)))
    texts = [example.text for example in dataset.test]
    asked = {
        "Occlusion": "leave-one-out",
        "comprehensiveness, sufficiency, tau": "comprehensiveness, sufficiency",
    }
    for library, found in libraries(folder, texts, pythons).items():
        title = f"{library} {found.get('version', '')}".strip()
        for method, taken in found.get("seconds", {}).items():
            if method in asked:
                own = 1e3 * ours[asked[method]] / TEXTS
                theirs = 1e3 * taken / TEXTS
                yield Row("transformers", asked[method], f"{title} {method}", int(words), own, theirs)
        if "error" in found:
            own = 1e3 * ours["leave-one-out"] / TEXTS
            yield Row("transformers", "leave-one-out", title, int(words), own, None, f"not measured: {found['error']}")


def libraries(folder: str, texts: list[str], pythons: list[str]) -> dict[str, dict[str, Any]]:
    """What each library took, in the first environment in which it ran; or why it did not."""
    found: dict[str, dict[str, Any]] = {name: {"error": "no environment was named (--python)"} for name in LIBRARIES}
    script = Path(__file__).with_name("other_libraries.py")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(texts, file)
        file.flush()
        for python in pythons:
            done = subprocess.run([python, str(script), folder, file.name], capture_output=True, text=True, check=False)
            last = done.stdout.strip().splitlines()[-1:] or ["{}"]
            answer = json.loads(last[0]) if done.returncode == 0 else {}
            for name, own in answer.items():
                is_better = "seconds" in own or "version" in own or "no environment" in found[name].get("error", "")
                if "seconds" not in found[name] and is_better:
                    found[name] = own
    return found


def made_up_texts() -> Dataset:
    """Sentences of 20 words of a small vocabulary."""
    draw = torch.Generator().manual_seed(0)
    rows = [
        tuple(f"word{number}" for number in torch.randint(0, 500, (20,), generator=draw).tolist()) for _ in range(TEXTS)
    ]
    examples = tuple(Example(row, place % 2, text=" ".join(row)) for place, row in enumerate(rows))
    return Dataset("made up", "", "classification", ("0", "1"), examples, (), examples)


def made_up_classifier(folder: str) -> str:
    """A BERT of six layers of 384 with random weights and a tokenizer of whole words, saved in the folder."""
    from tokenizers import Tokenizer, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    symbols = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    vocabulary = {word: number for number, word in enumerate((*symbols, *(f"word{i}" for i in range(500))))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    special = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), symbols, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **special).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    BertForSequenceClassification(BertConfig(vocab_size=len(vocabulary), **sizes)).save_pretrained(folder)
    return folder
