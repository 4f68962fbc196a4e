"""The columns that the study reads, and the rankings they speak of."""

NAME = "serrano_smith"
STANDS_FOR = {"imdb_ratings": "imdb_ratings", "dbpedia14_small": "yahoo", "newsgroups_20": "yahoo"}
"""The data set of the paper whose numbers are shown beside those of each of our sets."""

HIERARCHICAL, FLAT = "hierarchical", "flat"
RNN, CONV, NONE = "rnn", "conv", "none"

TOPS = ("attention", "weight_gradient", "attention_x_gradient")
RANKINGS = {
    "random": "random",
    "attention": "attention",
    "weight_gradient": "gradient",
    "attention_x_gradient": "attention x gradient",
    "minimal": "smallest set",
}
"""What items are erased by, and what tables and figures call it."""

FRACTION, MASS = "erase_until_flip.fraction_{}".format, "erase_until_flip.mass_{}".format
FLIPS, OTHER_FLIPS = "erase_one.flips_{}".format, "erase_one.other_flips_{}".format
DELTA_JS, DELTA_ATTENTION = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
FRACTIONS = tuple(map(FRACTION, RANKINGS))
ROUNDING = 1e-9
"""A ranking that erases more than the smallest set by less than this finds it."""
