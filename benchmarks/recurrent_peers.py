"""Heedful beside captum, and beside the authors' algorithms written plainly: recurrent models with random weights."""

from collections.abc import Callable, Iterator
from statistics import median

import leave_one_out
import reference
import torch
from audit import battery_seconds
from captum.attr import InputXGradient, IntegratedGradients, Saliency
from peer_row import Row
from timing import seconds

from heedful.attribution.gradient import gradient_x_input
from heedful.attribution.methods import integrated_gradients
from heedful.models.attention_model import AttentionModel, build_model
from heedful.settings import NetworkSettings
from heedful.types import Batch, Trace

ROUNDS = 3
LENGTHS = {20: 32, 200: 4}
"""Texts of about so many words: how many."""
PLAIN_TEXTS = {20: 6, 200: 1}
"""Of these, how many the plain forms get."""


def by_turns(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """The median seconds of both, measured in turns after a trial of each."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    return median(first for first, _ in pairs), median(second for _, second in pairs)


def captum_rows() -> Iterator[Row]:
    """Leave-one-out and gradients of a BiLSTM, in the same precision."""
    for words, count in LENGTHS.items():
        with torch.no_grad():
            settings, taken, _ = leave_one_out.race("bilstm", words)
        note = f"captum's best of several: {settings}; float32"
        yield Row("captum", "leave-one-out", "captum FeatureAblation", words, taken["ours"], taken["captum"], note)
        yield Row("captum", "leave-one-out", "every shortened text", words, taken["ours"], taken["plain"], "float32")
        torch.manual_seed(0)
        model, batch = (
            build_model(NetworkSettings(), leave_one_out.VOCABULARY, 2).eval(),
            leave_one_out.texts(words, count),
        )
        seen = reference.read(model, batch)
        for question, own, peer in gradient_pairs(model, batch, seen):
            ours, theirs = by_turns(own, peer[1])
            note = "ours runs captum's, on rows of similar length" if "integrated" in question else "float32"
            yield Row("captum", question, f"captum {peer[0]}", words, 1e3 * ours / count, 1e3 * theirs / count, note)


def gradient_pairs(
    model: AttentionModel, batch: Batch, seen: Trace
) -> Iterator[tuple[str, Callable, tuple[str, Callable]]]:
    """Questions by gradients: ours, and captum's on the whole batch at once."""
    decided, embedded = seen.logits.argmax(-1), seen.embedded.detach()

    def probability(vectors: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        some = Batch(*(getattr(batch, name)[rows] for name in ("index", "tokens", "mask", "attendable_mask", "labels")))
        encoded = model.encode(vectors, some)
        logits = model.decode(encoded, model.attend(encoded, some)[1])
        return logits.softmax(-1).gather(1, decided[rows, None])[:, 0]

    rows = torch.arange(len(embedded))

    def run(method, **options) -> Callable[[], object]:
        return lambda: method(probability).attribute(
            embedded.clone().requires_grad_(), additional_forward_args=(rows,), **options
        )

    yield "gradient x input", lambda: gradient_x_input(model, seen), ("InputXGradient", run(InputXGradient))
    yield "gradient x input", lambda: gradient_x_input(model, seen), ("Saliency", run(Saliency))
    steps = {"n_steps": 50, "internal_batch_size": 256}
    yield (
        "integrated gradients",
        lambda: integrated_gradients(model, seen),
        ("IntegratedGradients", run(IntegratedGradients, **steps)),
    )


def author_rows() -> Iterator[Row]:
    """The papers' algorithms, one text and one change at a time, beside the tests of the battery."""
    authors = {
        "leave_one_out_agreement": "Jain and Wallace, algorithm 1",
        "gradient_agreement": "Jain and Wallace, algorithm 1",
        "permutation": "Jain and Wallace, algorithm 2: 100 permutations",
        "adversarial_attention": "Jain and Wallace, algorithm 3: 500 steps of Adam",
        "erase_one": "Serrano and Smith, section 4",
        "erase_until_flip": "Serrano and Smith, section 5: 3 rankings, 100 at random",
        "comprehensiveness_sufficiency": "DeYoung et al.: 4 rankings, 5 sizes",
    }
    for words, count in LENGTHS.items():
        torch.manual_seed(0)
        model = build_model(NetworkSettings(), leave_one_out.VOCABULARY, 2).eval()
        batch = leave_one_out.texts(words, count)
        exact = build_model(NetworkSettings(), leave_one_out.VOCABULARY, 2).double().eval()
        exact.load_state_dict(model.state_dict())
        fast = [reference.read(exact, batch)]
        alone = [one_text(batch, row) for row in range(PLAIN_TEXTS[words])]
        slow = [reference.read(model, one) for one in alone]
        for name, who in authors.items():
            plain = reference.TESTS[name]
            battery_seconds(exact, fast, name)  # warms up
            ours = min(battery_seconds(exact, fast, name) for _ in range(2))
            theirs = plain_seconds(plain, model, alone, slow)
            question = name.replace("_", " ")
            note = "ours as an audit has it, with floors and yardsticks; theirs in float32, the value alone"
            yield Row("authors", question, who, words, 1e3 * ours / count, 1e3 * theirs / len(alone), note)


def plain_seconds(plain: Callable, model: AttentionModel, alone: list[Batch], seen: list[Trace]) -> float:
    """Seconds of a plain form on these texts."""
    return seconds(lambda: [plain(model, *case) for case in zip(alone, seen, strict=True)])


def one_text(batch: Batch, row: int) -> Batch:
    """A batch of one text without padding."""
    some, length = slice(row, row + 1), int(batch.mask[row].sum())
    tokens, mask, attendable_mask = (
        getattr(batch, name)[some, :length] for name in ("tokens", "mask", "attendable_mask")
    )
    return Batch(batch.index[some], tokens, mask, attendable_mask, batch.labels[some])
