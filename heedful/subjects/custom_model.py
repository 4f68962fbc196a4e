"""A custom model: an object, or FILE.py:FUNCTION, a function that any process can call; and its words.

Models are never sent from process to process: that would take pickle, which runs whatever is in it. A process that is
named a file runs that file, as `python FILE.py` would.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.battery import Context
from heedful.data.batching import Batches, to_device
from heedful.errors import SettingError
from heedful.settings import AuditSettings
from heedful.settings.data_folder import user_path
from heedful.subjects.checks import (
    checked_trace,
    class_names,
    first_line,
    named,
    validate_batches,
    validate_device,
    validate_gradient,
    validate_labels,
    validate_model,
)
from heedful.subjects.read_text import DescribedText, written
from heedful.subjects.subject import AUDITED, Subject, SubjectTexts, Texts, check_count, copied, float64_eval_copy
from heedful.token_scores import counts_of_batches
from heedful.types import Batch

CustomWords = Sequence[Sequence[str]] | Mapping[int, str] | Callable[[int], str]
"""The words of each text, in the order of the texts: one for each item that attention weighs; or the word of a token
number, as a dict or a function (`vocabulary.__getitem__`, `tokenizer.convert_ids_to_tokens`)."""
ByText = dict[int, tuple[str, ...]]
RETURNS = "a dict with `model` and `data`, a list of batches, and if you like words, name and labels"
OR_BY_NUMBER = "Or give a dict or a function from token IDs to words, such as `vocabulary.__getitem__`."


@dataclass(frozen=True)
class CustomModel:
    """What a user provides with a custom model.

    Args:
        words: a list for each text, in the order of the texts, with a word for each item that attention weighs; or a
            dict or function from token IDs to words.
        name: what it is called; empty: by its class.
        labels: what its classes are called, in the order of its logits; empty: by their numbers.
    """

    words: CustomWords | None = None
    name: str = ""
    labels: Sequence[str] = ()


class CustomSubject(Subject):
    """A user's own model, of which nothing is taken for granted.

    Args:
        described: what the user says of it.
        batches: that it is audited on where no others are given.
        key: by which its audits are known; empty: by its name.
        device: where it is measured; None: where it is.
    """

    reads_text = False

    def __init__(
        self,
        model: object,
        described: CustomModel = CustomModel(),  # noqa: B008 (frozen)
        *,
        batches: Sequence[Batch] | None = None,
        key: str = "",
        device: str | None = None,
    ):
        self.opened, self.described, self.batches = model, described, batches
        self.model, self.device = validate_model(model), validate_device(device)
        if self.device is not None and isinstance(self.model, nn.Module):
            self.model = copied(self.model).to(self.device)
        elif self.device is not None and self.device.type != "cpu":
            raise SettingError(
                f"device cannot be combined with a model that is not a torch.nn.Module. Remove it, and move the model "
                f"to '{self.device}' yourself."
            )
        if not isinstance(described.name, str):
            raise SettingError(f"name must be a string, what to call the model; it is {named(described.name)}.")
        kind = type(model).__name__
        self.name = self.title = described.name or kind
        self.key, self.labels = key or kind, tuple(described.labels)
        self.facts, self.settings = {"Model": kind}, {"run": None, "model": kind}
        self.how_to_audit = "`heedful.audit(model, batches)` and pass the result as `audit`"

    def texts(self, data: object, settings: AuditSettings) -> SubjectTexts:
        """The batches, all of them; the first is checked."""
        batches = validate_batches(data)
        read = self._texts(batches, self.described.labels)
        validate_labels(batches, len(read.labels))
        return read

    def _texts(self, batches: Sequence[Batch], labels: Sequence[str]) -> SubjectTexts:
        if self.device is not None:
            batches = [to_device(batch, self.device) for batch in batches]
        copy = float64_eval_copy(self.model)
        with torch.no_grad():
            first = checked_trace(copy, batches[0])
        validate_gradient(copy, first)
        if not callable(getattr(copy, "delete", None)):
            item_of_token(first)  # refused if nothing says which tokens make up an item
        by_token, names = items_are_tokens(first), class_names(labels, first.logits.shape[1])
        vocabulary, by_text = resolve_words(self.described.words, batches, by_token=by_token)
        counts = partial(counts_of_batches, batches, len(names))
        return SubjectTexts(
            name=self.name,
            model=self.model,
            split="test",
            numbers=[index for batch in batches for index in batch.index.tolist()],
            batches=Batches(
                [len(batch.labels) for batch in batches],
                [int(batch.attendable_mask.sum()) for batch in batches],
                batches.__getitem__,
            ),
            context=Context(labels=names, vocabulary=vocabulary, token_counts=counts),
            words=by_text,
            item="word" if by_token else "sentence",
            is_own=True,
            counted_on=AUDITED,
        )

    def _refuse(self, *given: Any, **options: Any) -> NoReturn:
        """Texts are refused: only the user can number their tokens."""
        raise SettingError(f"MODEL must be one that reads texts: only you can number the tokens of {self.title}.")

    spans = describe = batch_of = _refuse

    def read_all(self, texts: Texts, labels: Sequence[str] = ()) -> tuple[SubjectTexts, Mapping[int, DescribedText]]:
        """Batches that are to be explained, and what is known of each text by its number."""
        batches = [texts] if isinstance(texts, Batch) else texts
        is_batches = isinstance(batches, Sequence) and all(isinstance(batch, Batch) for batch in batches)
        if not is_batches or not batches:
            raise SettingError(
                "texts must be a `Batch` or a list of them for your own model: only you know its token IDs. It "
                f"is {texts!r:.60}."
            )
        read = self._texts(validate_batches(batches), self.described.labels or labels)
        words = {number: tuple(read.words.get(number, ())) for number in read.numbers}
        return read, {
            number: DescribedText(text=" ".join(own), labels=own, item=read.item if own else "item")
            for number, own in words.items()
        }


def resolve_words(
    words: CustomWords | None, batches: Sequence[Batch], *, by_token: bool
) -> tuple[tuple[str, ...], ByText]:
    """The word of every token ID, and the words of each text by its index; both empty if unknown.

    Words that are given text by text name the numbers, too: each number by what it mostly stands for.

    Args:
        by_token: whether attention weighs tokens; else `Batch.sentence` numbers what it weighs.
    """
    if words is None or (isinstance(words, Sequence) and not words):
        return (), {}
    if not isinstance(words, Mapping) and not callable(words):
        by_text = _by_text(words, batches, by_token=by_token)
        return (_vocabulary(_mostly(by_text, batches), None, batches) if by_token else ()), by_text
    if isinstance(words, Mapping) and isinstance(next(iter(words), 0), str):
        raise SettingError(
            "words must map token IDs to words; this dict maps words to something else. Invert it: "
            "{number: word for word, number in words.items()}."
        )
    lookup = words.__getitem__ if isinstance(words, Mapping) else words
    spoken = _spoken(lookup, batches)
    return _vocabulary(spoken, lookup, batches), _texts(spoken, batches, by_token=by_token)


def _spoken(lookup: Callable[[int], str], batches: Sequence[Batch]) -> dict[int, str]:
    """The word of every token that attention may weigh."""
    tokens = sorted({token for batch in batches for token in batch.tokens[batch.attendable_mask].unique().tolist()})
    spoken: dict[int, str] = {}
    for token in tokens:
        try:
            word = lookup(token)
        except Exception as error:  # untrusted code may raise anything
            reason = f"for token {token} there was {type(error).__name__}: {error}"
            raise SettingError(f"words must give the word of every token in the batches; {reason:.160}.") from error
        if not isinstance(word, str):
            raise SettingError(f"words must give a string for every token; for token {token} it gave {word!r:.60}.")
        spoken[token] = written(word)
    return spoken


def _vocabulary(
    spoken: Mapping[int, str], lookup: Callable[[int], str] | None, batches: Sequence[Batch]
) -> tuple[str, ...]:
    """A different name for every number up to the largest that occurs; those without a word go by their number."""
    vocabulary: list[str] = []
    taken: set[str] = set()
    for token in range(1 + max(int(batch.tokens.max()) for batch in batches)):
        word = spoken.get(token, "")
        if lookup and not word:
            with suppress(Exception):  # padding, which attention never weighs, needs no word
                other = lookup(token)
                word = written(other) if isinstance(other, str) else ""
        if not word or word in taken:
            word = f"{word} (token {token})" if word else f"token {token}"
        taken.add(word)
        vocabulary.append(word)
    return tuple(vocabulary)


def _texts(spoken: Mapping[int, str], batches: Sequence[Batch], *, by_token: bool) -> ByText:
    texts: ByText = {}
    for batch in batches:
        for row, number in enumerate(batch.index.tolist()):
            kept = batch.attendable_mask[row]
            names = [spoken[token] for token in batch.tokens[row][kept].tolist()]
            if not by_token and batch.sentence is not None:
                owned = list(zip(batch.sentence[row][kept].tolist(), names, strict=True))
                items = range(1 + max(owner for owner, _ in owned))
                names = [" ".join(name for owner, name in owned if owner == item) for item in items]
            texts[number] = tuple(names)
    return texts


def _by_text(words: Sequence[Sequence[str]], batches: Sequence[Batch], *, by_token: bool) -> ByText:
    numbers = [number for batch in batches for number in batch.index.tolist()]
    wanted = f"words must be a list of strings for each of the {len(numbers)} texts"
    if isinstance(words, str) or not isinstance(words, Sequence) or len(words) != len(numbers):
        parts = f"it has {len(words)} parts: {words!r:.60}" if isinstance(words, Sequence) else f"it is {words!r:.60}"
        raise SettingError(f"{wanted}; {parts}. {OR_BY_NUMBER}")
    for own in words:
        if isinstance(own, str) or not isinstance(own, Sequence) or not all(isinstance(word, str) for word in own):
            raise SettingError(f"{wanted}; that of a text is {own!r:.60}. {OR_BY_NUMBER}")
    if by_token:
        counts = [count for batch in batches for count in batch.attendable_mask.sum(1).tolist()]
        for number, own, count in zip(numbers, words, counts, strict=True):
            check_count(own, count, number)
    return {number: tuple(map(written, own)) for number, own in zip(numbers, words, strict=True)}


def _mostly(by_text: ByText, batches: Sequence[Batch]) -> dict[int, str]:
    """For each token number the word that it stands for more often than for all others together."""
    uses: dict[int, Counter[str]] = {}
    for batch in batches:
        for row, number in enumerate(batch.index.tolist()):
            tokens = batch.tokens[row][batch.attendable_mask[row]].tolist()
            for token, word in zip(tokens, by_text[number], strict=True):
                uses.setdefault(token, Counter())[word] += 1
    most = {token: (*counter.most_common(1)[0], counter.total()) for token, counter in uses.items()}
    return {token: word for token, (word, count, total) in most.items() if 2 * count > total}


def load_custom(name: str, device: str | None = None) -> CustomSubject:
    """What the function returns that FILE.py:FUNCTION names, checked.

    Its key is a hash of the file, of the function's name and of the model's weights.
    """
    file, _, function = name.rpartition(":")
    path = user_path(file, "--model").resolve()
    returned = _call(path, function)
    if not isinstance(returned, dict) or not {"model", "data"} <= returned.keys():
        raise SettingError(f"{name} must return {RETURNS}; it returned {named(returned)}.")
    known = ("model", "data", *(field.name for field in fields(CustomModel)))
    if unknown := [str(each) for each in returned if each not in known]:
        raise SettingError(f"{name} must return {RETURNS}; '{unknown[0]}' is none of them.")
    model, batches = returned["model"], validate_batches(returned["data"])
    described = CustomModel(**{part: value for part, value in returned.items() if part not in ("model", "data")})
    key = hashlib.sha256(path.read_bytes() + function.encode() + _weights(model)).hexdigest()[:16]
    return CustomSubject(model, described, batches=batches, key=key, device=device)


def _call(path: Path, function: str) -> Any:
    if not path.is_file():
        raise SettingError(f"--model must name a file that is there, FILE.py:FUNCTION; there is no {path}.")
    module = ModuleType(f"heedful_own_{path.stem}")
    module.__file__ = str(path)
    try:  # not by importlib, whose cached bytecode is stale if the file changes twice within a second
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
        made = getattr(module, function, None)
        returned = made() if callable(made) else None
    except Exception as error:  # untrusted code may raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise SettingError(f"{path} cannot be loaded, or its {function}() fails: {reason}.") from error
    if not callable(made):
        raise SettingError(
            f"--model must name a function of {path.name} that takes no argument; it has no {function}()."
        )
    return returned


def _weights(model: Any) -> bytes:
    """A hash of the weights of a module; of other models nothing is known but the file."""
    digest = hashlib.sha256()
    if isinstance(model, nn.Module):
        for name, value in model.state_dict().items():
            digest.update(name.encode())
            digest.update(_bytes(value) if isinstance(value, Tensor) else repr(value).encode())
    return digest.digest()


def fingerprint_of(batches: Sequence[Batch]) -> str:
    """A hash of the batches."""
    digest = hashlib.sha256()
    for batch in batches:
        for field in fields(batch):
            if (value := getattr(batch, field.name)) is not None:
                digest.update(field.name.encode())
                digest.update(_bytes(value))
    return digest.hexdigest()[:16]


def _bytes(value: Tensor) -> bytes:
    whole = value.detach().cpu().contiguous()
    kind = f"{whole.dtype}{tuple(whole.shape)}".encode()
    return kind + whole.flatten().view(torch.uint8).numpy().tobytes()
