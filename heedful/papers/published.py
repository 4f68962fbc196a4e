"""The numbers that the papers printed, to be shown beside ours.

Each paper's folder has a file `published.csv`, one number per row, with these columns:

item, page      where it is printed: "Table 2", "Figure 13", "section 5.4"; the page only where we know it
data            our name for the data set, else the paper's own in lower case; "all" for a statement about all of them
model           as our tables call it; empty where the number is about the data alone
                jain_wallace                 encoder and attention: "bilstm additive", "average additive"
                serrano_smith                attention over sentences or words; encoder: "hierarchical rnn", "flat none"
                attefa, wiegreffe_pinter     encoder: "bilstm", or "mlp", which reads each token alone
                seat                         encoder and method: "rnn seat", "bilstm word_at", "bert seat without topk"
                sun_lu                       "dp", "dp-l", "dp-a", "ad", the paper's names
                rationales                   "BiRNN", "BiRNN-Attn", "BiRNN-HateXplain", the paper's names
measure         a key of MEASURES, followed by what the paper splits by: "class 0" (the predicted class; for sizes and
                tokens the label), "seed=50", "lambda=10", "radius=0.01" (noise on embeddings), "words=2" (replaced)
value, spread   the number, and the standard deviation printed beside it; shares are in 0..1 even if printed in percent
note            what to know before comparing

Per-seed numbers of Amini and Kosseim (Tables 4 and 5) are included only for the columns that could be read without
doubt: all nine seeds, agreeing with the mean and deviation of Table 3. For Wiegreffe and Pinter we have what others
report.
"""

from functools import cache
from importlib import resources

import polars as pl

from heedful.errors import lookup

PAPERS: dict[str, str] = {
    "jain_wallace": "Jain and Wallace (2019), Attention is not Explanation",
    "wiegreffe_pinter": "Wiegreffe and Pinter (2019), Attention is not not Explanation",
    "serrano_smith": "Serrano and Smith (2019), Is Attention Interpretable?",
    "attefa": "Amini and Kosseim (2022), How (Un)Faithful is Attention?",
    "seat": "Hu et al. (2023), SEAT: Stable and Explainable Attention",
    "sun_lu": "Sun and Lu (2020), Understanding Attention for Text Classification",
    "rationales": "Mathew et al. (2021), HateXplain: A Benchmark Dataset for Explainable Hate Speech Detection",
}

_RANKED = {
    "both_flip": "share of texts whose decision changes without the top item, and also without a random other one",
    "only_top_flips": "share whose decision changes without the top item only",
    "only_other_flips": "share whose decision changes without the random other item only",
    "neither_flips": "share whose decision neither changes",
    "fraction_above_half": "share of texts that need more than half of the items erased before the decision changes",
}

MEASURES: dict[str, str] = {
    "vocabulary": "number of distinct words",
    "classes": "number of classes",
    "average_length": "mean number of tokens of a text",
    "train_average_length": "the same of the training texts",
    "test_average_length": "the same of the test texts",
    "average_sentences": "mean number of sentences of a text",
    "train_size": "number of training texts",
    "dev_size": "number of development texts",
    "train_dev_size": "number of training and development texts together",
    "test_size": "number of test texts",
    "tokens": "number of distinct tokens that indicate a class, or (neutral) none",
    "f1": "F1 on the test texts",
    "accuracy": "share of test texts classified correctly",
    "tau_gradient": "mean Kendall tau of attention with the input gradient",
    "tau_leave_one_out": "mean Kendall tau of attention with leave-one-out",
    "significant_gradient": "share of texts where the tau with the gradient differs from 0 significantly",
    "significant_leave_one_out": "the same for the tau with leave-one-out",
    "gap_gradient": "tau of gradient and leave-one-out with each other, minus the tau of attention with the gradient",
    "gap_leave_one_out": "the same, minus the tau of attention with leave-one-out",
    "gap_encoders": "tau of attention with leave-one-out, this encoder - bilstm",
    **{
        f"{name}_{ranking}": f"{meaning}; ranked by {ranking}"
        for name, meaning in _RANKED.items()
        for ranking in ("random", "attention", "weight_gradient", "attention_x_gradient")
    },
    "models": "number of models the statement is about",
    "models_gradient_mostly_faster": "models where gradient needs fewer erasures than attention on over half the texts",
    "models_gradient_flips_less": "models where the top item by gradient flips fewer decisions than that by attention",
    "models_product_flips_more": "models where the top item by attention x gradient flips more than that by attention",
    "gradient_faster_ratio": "texts where the gradient needs fewer erasures, over texts where attention does",
    "epochs": "epochs until the adversary's best",
    "adversary_f1": "F1 of the adversary on the test texts",
    "tvd": "mean total variation distance of the adversary's predictions from the base model's; half of ours",
    "jsd": "mean Jensen-Shannon divergence of the adversary's attention from the base model's, in nats",
    "attefa": "min(2 tvd / (jsd / ln 2), 1)",
    "embedding_jsd": "Jensen-Shannon divergence of attention under noise on the embeddings",
    "embedding_tvd": "change of the prediction under noise on the embeddings",
    "word_jsd": "Jensen-Shannon divergence of attention after words were replaced",
    "word_tvd": "change of the prediction after words were replaced",
    "comprehensiveness": "change of the prediction without the most attended words; higher is better",
    "sufficiency": "change of the prediction with these words alone; lower is better",
    "roc_auc": "area under the ROC curve on the test texts",
    "auprc": "area under the precision-recall curve of attention against the marks, as ERASER's code takes it",
    "sensitivity": "how much noise on these words the decision withstands; lower is better",
}
"""What each measure is; a number's measure is one of these, and the class or setting where there are several."""

_COLUMNS = {
    "item": pl.String,
    "page": pl.Int64,
    "data": pl.String,
    "model": pl.String,
    "measure": pl.String,
    "value": pl.Float64,
    "spread": pl.Float64,
    "note": pl.String,
}


@cache
def published(paper: str) -> pl.DataFrame:
    """All numbers that we have from a paper, in the order of its tables; a page or spread not printed is null.

    >>> published("sun_lu").select("item", "data", "model", "measure", "value").row(35)
    ('Table 2', 'sst2', 'dp', 'accuracy lambda=0.001', 0.553)
    """
    lookup("paper", paper, PAPERS)
    file = resources.files("heedful.papers") / paper / "published.csv"
    return pl.read_csv(file.read_bytes(), schema=_COLUMNS).with_columns(pl.col("model", "note").fill_null(""))


def number(paper: str, *, item: str, data: str, measure: str, model: str = "") -> float | None:
    """The number printed there, or None where the paper prints none; without a model, one about the data alone.

    >>> number("jain_wallace", item="Table 2", data="sst2", model="bilstm additive", measure="tau_gradient class 0")
    0.4
    """
    rows = published(paper).filter(item=item, data=data, model=model, measure=measure)
    return None if rows.is_empty() else rows["value"].item()
