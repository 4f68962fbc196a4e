"""Explanations in the terminal, with colours and without."""

import re
from dataclasses import replace
from io import StringIO
from typing import Literal

import pytest
from rich.console import Console

from heedful.report.explanation_terminal import show
from support.explanations import OTHER, make_explanation

Colours = Literal["truecolor"]
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def printed(*explanations, notes=(), colours: Colours | None = "truecolor", width=200, no_color=False) -> str:
    out = StringIO()
    console = Console(
        file=out, width=width, highlight=False, color_system=colours, force_terminal=bool(colours), no_color=no_color
    )
    show(explanations, notes, console)
    return out.getvalue()


def plain(*explanations, **options) -> str:
    return re.sub(r" +\n", "\n", printed(*explanations, colours=None, **options))


def test_the_whole_text_without_colours():
    assert plain(make_explanation()) == (
        "Lead of instead.\n"
        "Trust of instead.\n"
        "\n"
        "The model answers good with probability 0.85 (bad 0.15)\n"
        "  A great film\n"
        "\n"
        "Attention x gradient (recommended by the audit)\n"
        "  most: “great”\N{NO-BREAK SPACE}0.4, “film”\N{NO-BREAK SPACE}-0.2, “A”\N{NO-BREAK SPACE}0.01\n"
        "\n"
        "Attention (for comparison)\n"
        "  most: “great”\N{NO-BREAK SPACE}0.5, “A”\N{NO-BREAK SPACE}0.25, “film”\N{NO-BREAK SPACE}0.25\n"
        "\n"
        "Same answer, other attention (answers good with 0.85)\n"
        "  most: “film”\N{NO-BREAK SPACE}0.9, “great”\N{NO-BREAK SPACE}0.1\n"
        "\n"
        "- Erasing “great” (1 of 3 words) changes the decision to bad (probability 0.62); no smaller set does.\n"
        "- The most different attention with the same answer (probability 0.85) reaches 81 % of the maximum divergence "
        "(JSD 0.45).\n"
        "\n"
        "To erase a word is to give its attention to the others, in proportion. The most different attention is the "
        "furthest from the model's, by Jensen-Shannon divergence (JSD, in nats), that moves the\n"
        "prediction by at most 0.01.\n"
    )


def test_with_colours_every_row_shows_the_text():
    output = printed(make_explanation())
    words = ESCAPE.sub("", output)
    assert words.count("A great film") == 3
    assert "word speaks for the decision  word speaks against it  word smallest set whose erasure changes" in words


def test_colours_grow_with_the_weight_and_tell_for_from_against():
    row = next(
        line for line in printed(make_explanation()).splitlines() if ESCAPE.sub("", line).strip() == "A great film"
    )
    strong, against = re.findall(r"\x1b\[([\d;]*)m(\w+)", row)[-2:]
    assert strong[1] == "great" and "48;2;255;194;111" in strong[0] and strong[0].startswith("4;")
    assert against[1] == "film" and "48;2;193;222;245" in against[0] and against[0].startswith("3;")
    assert re.search(r"(^|\s)A ", ESCAPE.sub("", row)) and "mA" not in row


@pytest.mark.parametrize("options", [{"colours": None}, {"no_color": True}])
def test_without_colours_the_text_stands_once_and_there_is_no_legend(options):
    words = ESCAPE.sub("", printed(make_explanation(), **options))
    assert words.count("A great film") == 1 and "speaks for" not in words and "most: “great”" in words


@pytest.mark.parametrize(
    ("action", "colour"),
    [("attention", "\x1b[1m"), ("instead", "\x1b[1m"), ("nothing", "\x1b[1;31m"), ("not audited", "\x1b[1;33m")],
)
def test_a_warning_has_the_colour_of_a_warning(action, colour):
    assert printed(make_explanation(action=action)).startswith(f"{colour}Lead of {action}.")


def test_the_legend_speaks_of_what_is_there():
    words = ESCAPE.sub("", printed(make_explanation(action="nothing", smallest_set=None, item="sentence")))
    assert "sentence large weight" in words and "against" not in words and "smallest set whose" not in words


def test_texts_are_numbered_where_there_are_several():
    assert "Text 1" not in plain(make_explanation())
    both = plain(make_explanation(), make_explanation())
    assert "Text 1: The model answers" in both and "Text 2: The model answers" in both
    assert both.count("Trust of instead.") == 1 and both.count("To erase a word") == 1


def test_notes_and_the_query_are_told():
    made = make_explanation(notes=("A note on the text.",), query="Why [bold]so[/bold]?")
    words = plain(made, notes=["A note on the file."])
    assert "- A note on the text." in words and words.endswith("A note on the file.\n")
    assert "Question or hypothesis: Why [bold]so[/bold]?" in words


@pytest.mark.parametrize("colours", [None, "truecolor"])
def test_a_text_cannot_write_to_the_terminal(colours):
    evil = "\x1b[2J\x1b]0;title\x07[red]\u202e\x9b31m\r\x08"
    made = make_explanation(
        (evil, "[bold]", "[/]"), text=f"{evil} [bold] [/]", query=evil, notes=(evil,), predicted=evil,
        probabilities={evil: 0.9, "b": 0.1}, other_attention=replace(OTHER, predicted=evil),
    )  # fmt: skip
    words = ESCAPE.sub("", printed(made, notes=[evil], colours=colours))
    assert not set(words) & set("\x1b\x07\u202e\x9b\r\x08")
    assert "[bold] [/]" in words and "[red]" in words


def test_a_narrow_terminal_wraps_the_text():
    words = plain(make_explanation(), width=30)
    assert max(map(len, words.splitlines())) <= 30
