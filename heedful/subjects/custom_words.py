"""The words of a user's own texts: of each text, or of each token number, whichever they have."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from heedful.errors import SettingError
from heedful.types import Batch

CustomWords = Sequence[Sequence[str]] | Mapping[int, str] | Callable[[int], str]
"""The words of each text, in the order of the texts: one for each item that attention weighs; or the word of a token
number, as a dict or a function (`vocabulary.__getitem__`, `tokenizer.convert_ids_to_tokens`)."""

ByText = dict[int, tuple[str, ...]]
OR_BY_NUMBER = "Or give a dict or a function from the number of a token to its word, such as `vocabulary.__getitem__`."


def resolve_words(
    words: CustomWords | None, batches: Sequence[Batch], *, by_token: bool
) -> tuple[tuple[str, ...], ByText]:
    """The word of every token number, and the words of each text by its number; both empty where nobody knows.

    Words that are given text by text name the numbers, too: each number by what it mostly stands for.

    Args:
        by_token: whether attention weighs tokens; else `Batch.sentence` numbers what it weighs.
    """
    if words is None or (isinstance(words, Sequence) and not words):
        return (), {}
    if isinstance(words, Mapping) or callable(words):
        lookup = _lookup(words)
        spoken = _spoken(lookup, batches)
        return _vocabulary(spoken, lookup, batches), _texts(spoken, batches, by_token=by_token)
    by_text = _by_text(words, batches, by_token=by_token)
    return (_vocabulary(_mostly(by_text, batches), None, batches) if by_token else ()), by_text


def _lookup(words: Mapping[int, str] | Callable[[int], str]) -> Callable[[int], str]:
    if not isinstance(words, Mapping):
        return words
    first = next(iter(words), 0)
    if isinstance(first, str):
        raise SettingError(
            "words must map the number of a token to its word; this dict maps words to something else. Turn it round: "
            "{number: word for word, number in words.items()}."
        )
    return words.__getitem__


def _spoken(lookup: Callable[[int], str], batches: Sequence[Batch]) -> dict[int, str]:
    """The word of every token that attention may weigh."""
    tokens = sorted({token for batch in batches for token in batch.tokens[batch.attendable_mask].unique().tolist()})
    spoken: dict[int, str] = {}
    for token in tokens:
        try:
            word = lookup(token)
        except Exception as error:  # a stranger's function may raise anything
            reason = f"for token {token} there was {type(error).__name__}: {error}"
            raise SettingError(f"words must give the word of every token in the batches; {reason:.160}.") from error
        if not isinstance(word, str):
            raise SettingError(f"words must give a string for every token; for token {token} it gave {word!r:.60}.")
        spoken[token] = _valid(word)
    return spoken


def _vocabulary(
    spoken: Mapping[int, str], lookup: Callable[[int], str] | None, batches: Sequence[Batch]
) -> tuple[str, ...]:
    """A different name for every number up to the largest that occurs; those without a word go by their number."""
    vocabulary: list[str] = []
    taken: set[str] = set()
    for token in range(1 + max(int(batch.tokens.max()) for batch in batches)):
        word = spoken.get(token) or _quiet(lookup, token)
        if not word or word in taken:
            word = f"{word} (token {token})".strip() if word else f"token {token}"
        taken.add(word)
        vocabulary.append(word)
    return tuple(vocabulary)


def _quiet(lookup: Callable[[int], str] | None, token: int) -> str:
    """The word of a token that attention never weighs, if it has any."""
    try:
        word = lookup(token) if lookup else ""
    except Exception:  # padding needs no word
        return ""
    return _valid(word) if isinstance(word, str) else ""


def _texts(spoken: Mapping[int, str], batches: Sequence[Batch], *, by_token: bool) -> ByText:
    texts: ByText = {}
    for batch in batches:
        for row, number in enumerate(batch.index.tolist()):
            kept = batch.attendable_mask[row]
            names = [spoken[token] for token in batch.tokens[row][kept].tolist()]
            if not by_token and batch.sentence is not None:
                owners = batch.sentence[row][kept].tolist()
                members = {word_ids: [] for word_ids in range(max(owners) + 1)}
                for word_ids, name in zip(owners, names, strict=True):
                    members[word_ids].append(name)
                names = [" ".join(own) for own in members.values()]
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
    return {number: tuple(map(_valid, own)) for number, own in zip(numbers, words, strict=True)}


def check_count(names: Sequence[str], count: int, number: int) -> None:
    """Refuse names that are more or fewer than the items of a text."""
    if len(names) != count:
        raise SettingError(
            f"words must name each item that attention weighs: text {number} has {count} items, and `words` has "
            f"{len(names)} for it. Leave out padding, and start and end symbols that have no weight."
        )


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


def _valid(word: str) -> str:
    """The word without halves of surrogate pairs, which no file can hold."""
    return word.encode("utf-8", "replace").decode("utf-8")
