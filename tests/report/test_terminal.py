"""Explanations in the terminal, with colors and without."""

import re
from dataclasses import replace
from io import StringIO
from typing import Literal

from rich.console import Console

from heedful.report.terminal import show
from heedful.verdict.answer_text import outcome_sentences
from support.explanations import OTHER, OUTCOMES, make_explanation

Colors = Literal["truecolor"]
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def printed(*explanations, notes=(), colors: Colors | None = "truecolor", width=200, no_color=False) -> str:
    out = StringIO()
    console = Console(
        file=out, width=width, highlight=False, color_system=colors, force_terminal=bool(colors), no_color=no_color
    )
    show(explanations, notes, console)
    return out.getvalue()


def plain(*explanations, **options) -> str:
    return re.sub(r" +\n", "\n", printed(*explanations, colors=None, **options))


def test_the_whole_text_without_colors():
    assert plain(make_explanation()) == (
        "Attention points to the key words.\n"
        "The model predicts good with probability 0.85 (bad 0.15).\n"
        "Key word: great.\n"
        "With this word alone: good 0.97; without it: bad 0.61.\n"
        "Attention x gradient points to the key words.\n"
        "\n"
        "  A [great] film\n"
        "\n"
        "Attention x gradient (recommended by the audit)\n"
        "  most: “great”\N{NO-BREAK SPACE}0.4, “film”\N{NO-BREAK SPACE}-0.2, “A”\N{NO-BREAK SPACE}0.01\n"
        "\n"
        "Attention (for comparison)\n"
        "  most: “great”\N{NO-BREAK SPACE}0.5, “A”\N{NO-BREAK SPACE}0.25, “film”\N{NO-BREAK SPACE}0.25\n"
        "\n"
        "Adversarial attention (predicts good with 0.85)\n"
        "  most: “film”\N{NO-BREAK SPACE}0.9, “great”\N{NO-BREAK SPACE}0.1\n"
        "\n"
        "- Erasing the attention weight of “great” (1 of 3 words) changes the prediction to bad (probability 0.62); no "
        "smaller set does.\n"
        "- Adversarial attention keeps the prediction (probability 0.85) and reaches 81% of the maximum divergence "
        "(JSD 0.45).\n"
        "\n"
        "Basis. Can attention be shown as an explanation?\n"
        "If the model predicts good: Yes. Numbers of good.\n"
        "Advice of ranking.\n"
        "\n"
        "[word] key words\n"
        "To erase an attention weight is to give it to the other words, in proportion. Adversarial attention is the "
        "farthest from the model's own, by Jensen-Shannon divergence (JSD, in nats), that moves the\n"
        "prediction by at most 0.01.\n"
    )


def test_with_colors_every_row_shows_the_text():
    output = printed(make_explanation())
    words = ESCAPE.sub("", output)
    assert words.count("A great film") == 3
    assert "word supports the prediction  word opposes it  word key words  word top words of a row" in words


def test_colors_grow_with_the_weight_and_tell_support_from_opposition():
    row = next(
        line for line in printed(make_explanation()).splitlines() if ESCAPE.sub("", line).strip() == "A great film"
    )
    strong, against = re.findall(r"\x1b\[([\d;]*)m(\w+)", row)[-2:]
    assert strong[1] == "great" and "48;2;255;194;111" in strong[0] and strong[0].startswith("1;4;")
    assert against[1] == "film" and "48;2;193;222;245" in against[0] and against[0].startswith("3;")
    assert re.search(r"(^|\s)A ", ESCAPE.sub("", row)) and "mA" not in row


def test_without_colors_the_text_stands_once_with_brackets_around_key_words():
    for options in [{"colors": None}, {"no_color": True}]:
        words = ESCAPE.sub("", printed(make_explanation(), **options))
        assert words.count("A [great] film") == 1 and "supports" not in words and "most: “great”" in words


def test_the_first_sentence_and_the_legend_tell_the_outcome():
    for name, style in [
        ("points", "\x1b[1m"),
        ("misses", "\x1b[1;31m"),
        ("any words", "\x1b[1;33m"),
        ("one word", "\x1b[1;33m"),
    ]:
        (first, *_) = outcome_sentences(OUTCOMES[name], ("A", "great", "film"))
        assert printed(make_explanation(outcome=OUTCOMES[name])).startswith(f"{style}{first}")
    made = make_explanation(show="nothing", outcome=OUTCOMES["one word"], item="sentence")
    words = ESCAPE.sub("", printed(made))
    assert "sentence large weight" in words and "opposes" not in words and "key sentences" not in words
    assert "[sentence]" not in plain(made)


def test_texts_are_numbered_and_notes_and_the_query_told():
    assert "Text 1" not in plain(make_explanation())
    both = plain(make_explanation(), make_explanation())
    assert "Text 1: Attention points" in both and "Text 2: Attention points" in both
    assert both.count("Advice of ranking.") == 1 and both.count("To erase an") == 1
    made = make_explanation(notes=("A note on the text.",), query="Why [bold]so[/bold]?")
    words = plain(made, notes=["A note on the file."])
    assert "- A note on the text." in words and words.endswith("A note on the file.\n")
    assert "Question or hypothesis: Why [bold]so[/bold]?" in words


def test_a_text_cannot_write_to_the_terminal():
    for colors in [None, "truecolor"]:
        evil = "\x1b[2J\x1b]0;title\x07[red]\u202e\x9b31m\r\x08"
        made = make_explanation(
            (evil, "[bold]", "[/]"), text=f"{evil} [bold] [/]", query=evil, notes=(evil,), predicted=evil,
            probabilities={evil: 0.9, "b": 0.1}, other_attention=replace(OTHER, predicted=evil),
        )  # fmt: skip
        words = ESCAPE.sub("", printed(made, notes=[evil], colors=colors))
        assert not set(words) & set("\x1b\x07\u202e\x9b\r\x08")
        assert ("[bold] [/]" if colors else "[[bold]] [/]") in words and "[red]" in words
