"""The verdict of a made-up audit: the means of its rows, with intervals of about the right width."""

import polars as pl

QUESTIONS = {
    "gradient_agreement": "Does attention rank words as the gradient does?",
    "leave_one_out_agreement": "Does attention rank words as leaving them out does?",
    "permutation": "Does it matter which words get the weight?",
    "without_top": "Could the answer stand without the top words?",
    "adversarial_attention": "How different can attention be for the same answer?",
    "erase_one": "Does the top word determine the prediction?",
    "erase_until_flip": "Does the ranking find the words that the prediction depends on?",
    "uniform": "Is attention needed at all?",
    "uniform_retrained": "Is attention needed at all, in a retrained model?",
}
SHARES = ("without_top", "erase_one", "erase_until_flip", "uniform")
RANKINGS = (
    "random",
    "attention",
    "weight_gradient",
    "attention_x_gradient",
    "leave_one_out",
    "gradient_x_input",
    "minimal",
)


def make_verdict(table, texts, encoder, labels):
    def mean(test, measure):
        column = table.filter((pl.col("test") == test) & (pl.col("measure") == measure))["value"]
        return float(column.filter(column.is_finite()).mean())

    def line(name, value, floor, best, kind, sentence, undefined=0):
        score = (value - floor) / (best - floor) if abs(best - floor) > 1e-6 else 0.0
        wide = 0.03 + 0.8 / texts**0.5 * 0.2
        return {
            "name": name,
            "question": QUESTIONS[name],
            "value": value,
            "low": value - wide / 3,
            "high": value + wide / 3,
            "floor": floor,
            "best": best,
            "best_kind": kind,
            "score": score,
            "score_low": score - wide,
            "score_high": score + wide,
            "texts": texts - undefined,
            "undefined": undefined,
            "unit": "share" if name in SHARES else "number",
            "sentence": sentence,
            "details": {},
        }

    stands = mean("adversarial_attention", "without_top_1")
    flips, other = mean("erase_one", "flips_attention"), mean("erase_one", "other_flips_attention")
    fractions = {name: mean("erase_until_flip", f"fraction_{name}") for name in RANKINGS}
    never = int(table.filter((pl.col("measure") == "fraction_minimal") & pl.col("value").is_nan()).height)
    tau, tau_loo = mean("gradient_agreement", "tau"), mean("leave_one_out_agreement", "tau")
    both = max(0.3, mean("leave_one_out_agreement", "tau_gradient"))
    moved = mean("adversarial_attention", "js") / mean("adversarial_attention", "cap")
    shuffled, erased_share = mean("permutation", "median_tvd"), fractions["attention"]
    sentences = {
        "gradient_agreement": f"Attention and the gradient agree by {tau:.2f}, where {both:.2f} can be had.",
        "leave_one_out_agreement": f"Attention and leaving words out agree by {tau_loo:.2f}.",
        "permutation": f"Shuffling the weights changes the answer by {100 * shuffled:.0f} points of 100.",
        "without_top": f"For {stands * 100:.0f} of 100 texts the answer stands with no attention on the top word.",
        "adversarial_attention": f"Attention can move {100 * moved:.0f} % of the way and the answer stays.",
        "erase_one": f"Erasing the top word flips {100 * flips:.0f} of 100 decisions; another word {100 * other:.0f}.",
        "erase_until_flip": f"In the order of attention {100 * erased_share:.0f} % of the words go before the flip.",
        "uniform": "Attention spread evenly over all words costs this model 3 correct answers of 100.",
    }
    lines = [
        line("gradient_agreement", tau, 0, both, "yardstick", sentences["gradient_agreement"]),
        line("leave_one_out_agreement", tau_loo, 0, both, "yardstick", sentences["leave_one_out_agreement"]),
        line("permutation", shuffled, 0, mean("permutation", "worst_tvd"), "ceiling", sentences["permutation"]),
        line("without_top", 1 - stands, 0, 1, "ceiling", sentences["without_top"]),
        line("adversarial_attention", 1 - moved, 0, 1, "ceiling", sentences["adversarial_attention"]),
        line("erase_one", flips, other, mean("erase_one", "some_item_flips"), "ceiling", sentences["erase_one"]),
        line(
            "erase_until_flip",
            erased_share,
            fractions["random"],
            fractions["minimal"],
            "ceiling",
            sentences["erase_until_flip"],
            undefined=never,
        ),
        line("uniform", 0.031, 0, 0.41, "ceiling", sentences["uniform"]),
    ]
    lines[2]["details"] = {"share of texts that some permutation flips": mean("permutation", "some_flips")}
    lines[3]["details"] = {"without the top 3": 1 - mean("adversarial_attention", "without_top_3")}
    nothing = dict.fromkeys(("value", "low", "high", "floor", "best", "best_kind", "score", "score_low", "score_high"))
    lines.append(
        {
            "name": "uniform_retrained",
            "question": QUESTIONS["uniform_retrained"],
            **nothing,
            "texts": 0,
            "undefined": texts,
            "sentence": "No model was retrained, so there is nothing to measure.",
            "details": {},
        }
    )
    return {
        "run": f"{encoder}-4f1c09aa",
        "data": "toy reviews",
        "split": "test",
        "texts": texts,
        "labels": labels,
        "lines": lines,
        "words": {
            "auroc": 0.83,
            "polar": 12,
            "neutral": 14,
            "most": [{"word": "<b>luminous</b>", "speaks_for": "positive", "score": 2.25}],
            "least": [{"word": "the", "speaks_for": "", "score": -1.5}],
        },
        "settings": {
            "run": {
                "data": {"source": "toy", "fingerprint": encoder},
                "network": {"encoder": encoder, "kernels": [1, 3, 5, 7]},
                "seed": 0,
            },
            "audit": {
                "options": {"adversarial_attention": {"eps": 0.01, "search": True}, "permutation": {"count": 20}}
            },
        },
        "command": f"heedful audit toy --encoder {encoder} --seed 0",
        "seconds": 12.5,
        "versions": {"heedful": "0.1.0", "python": "3.11"},
    }
