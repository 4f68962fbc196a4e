"""Audits as the contract of the files describes them, computed for made-up texts by a toy model of two classes.

Each word has a polarity. The `average` model knows each word by itself; in the `bilstm` model every word carries what
the whole text says, so that its attention hardly matters. Plain loops: small, and independent of the package.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import kendalltau

from support.synthetic_outcomes import answer_of, outcomes_table, text_rows
from support.synthetic_verdict import make_verdict

POLARITY = {
    "dreadful": -2.6,
    "tedious": -1.9,
    "clumsy": -1.6,
    "flat": -1.2,
    "overlong": -1.0,
    "uneven": -0.7,
    "tender": 1.3,
    "luminous": 2.5,
    "funny": 1.7,
    "gripping": 2.1,
    "sly": 0.9,
    "humane": 1.4,
}
FILLERS = ["the", "a", "of", "and", "film", "story", ",", "with", "its", "actors", "is", "evening", "camera", "ending"]
LABELS = ["negative", "positive"]
SIMILAR = "<i>similar</i>"
"""What stands in the place of a text's last word where one is replaced."""
EXAMPLE_SCHEMA = {
    "run": pl.String,
    "split": pl.String,
    "example": pl.Int32,
    "text": pl.String,
    "items": pl.List(pl.String),
    "label": pl.String,
    "predicted": pl.String,
    "probability": pl.Float64,
    "adversarial_probability": pl.Float64,
    "replaced": pl.List(pl.String),
}


def sigmoid(logit):
    return 1 / (1 + np.exp(-logit))


def js(p, q):
    m = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / m), 0) + np.where(q > 0, q * np.log(q / m), 0)
    return float(terms.sum() / 2)


def toy_words(draw):
    """The words of a text and its label; the same for every model."""
    size = int(draw.integers(5, 26))
    side = draw.choice([-1, 1])
    mine = [word for word, polarity in POLARITY.items() if polarity * side > 0]
    words = [str(draw.choice(FILLERS)) for _ in range(size)]
    for place in draw.permutation(size)[: size // 4]:
        words[place] = str(draw.choice(mine if draw.random() < 0.85 else list(POLARITY)))
    words[int(draw.integers(size))] = str(draw.choice(mine))
    return words, int(side > 0)


def toy_model(draw, words, encoder):
    """Attention, scores and gradient of the words as one model sees them."""
    size, polarity = len(words), np.array([POLARITY.get(word, 0.0) for word in words])
    if encoder == "average":
        scores = 1.8 * polarity + draw.normal(0, 0.25, size)
        attention = np.exp(0.9 * abs(polarity) + draw.normal(0, 0.3, size))
    else:
        scores = 1.1 * np.sign(polarity.sum() + 1e-9) + 0.5 * polarity + draw.normal(0, 0.9, size)
        attention = np.exp(0.7 * abs(polarity) + draw.normal(0, 0.9, size))
    attention = attention / attention.sum()
    gradient = np.abs(scores + draw.normal(0, 0.6, size)) * (attention if encoder == "average" else draw.random(size))
    return attention, scores, gradient


def erased(attention, scores, gone):
    """The answer with some items erased and the rest renormalised."""
    kept = np.delete(np.arange(len(scores)), gone)
    return sigmoid(attention[kept] @ scores[kept] / attention[kept].sum()) if len(kept) else 0.5


def measure(draw, words, label, attention, scores, gradient):
    """Every value of the battery for one text, and the item-level ones."""
    size, p = len(words), sigmoid(attention @ scores)
    predicted = int(p > 0.5)
    sign = 1 if predicted else -1
    out = np.array([erased(attention, scores, [i]) for i in range(size)])
    importance = abs(out - p)
    shuffled = [abs(sigmoid(draw.permutation(attention) @ scores) - p) for _ in range(20)]
    values = {
        "prediction": {
            "predicted": predicted,
            "probability": max(p, 1 - p),
            "label": label,
            "correct": predicted == label,
            "items": size,
            "max_attention": attention.max(),
        },
        "permutation": {
            "median_tvd": np.median(shuffled),
            "worst_tvd": max(shuffled),
            "some_flips": float(max(shuffled) > abs(p - 0.5)),
        },
        "uniform": {
            "correct_uniform": (scores.mean() > 0) == label,
            "tvd_uniform": abs(sigmoid(scores.mean()) - p),
            "flips_uniform": 0.0,
        },
    }
    for name, other in (("gradient_agreement", gradient), ("leave_one_out_agreement", importance)):
        tau = kendalltau(attention, other)
        values[name] = {"tau": tau.statistic, "p": tau.pvalue}
    values["gradient_agreement"]["tau_permuted"] = 0.1
    values["leave_one_out_agreement"]["tau_gradient"] = kendalltau(gradient, importance).statistic
    other, value = adversarial_attention(attention, scores, p)
    top = int(attention.argmax())
    rest = np.delete(scores, top)
    stands = rest.min() <= np.log((p + 0.01) / max(1e-9, 0.99 - p)) and rest.max() >= attention @ scores - 0.05
    values["adversarial_attention"] = {
        "js": value,
        "cap": js(attention, np.eye(size)[attention.argmin()]),
        "js_search": value * draw.uniform(0.6, 0.95),
        "without_top_1": float(stands),
        "without_top_3": float(stands and draw.random() < 0.9),
    }
    cap = values["adversarial_attention"]["cap"]
    values["attefa"] = {"cap": cap, "constant_tvd": abs(p - 0.5), "rescaled_tvd": min(p, 1 - p)}
    values["attefa"] |= {"frozen_tvd": 0.01, "frozen_js": value}
    values["adversarial_models"] = {"tvd_1": abs(p - 0.5), "js_1": 0.9 * cap, "tvd_2": 0.02, "js_2": 0.8 * cap}
    values["adversarial_models"] |= {"apart_1": 1.0, "apart_2": 0.0}
    values["token_scores"] = token_weights(words, attention)
    values |= stability(np.random.default_rng(size))
    ranked = {
        "attention": attention,
        "weight_gradient": sign * scores,
        "attention_x_gradient": sign * scores * attention,
    }
    values["erase_one"] = single(draw, attention, out, p, ranked)
    ranked |= {
        "leave_one_out": importance,
        "gradient_x_input": gradient,
        "random": draw.random(size),
        "minimal": sign * scores * attention,
    }
    values["erase_until_flip"], smallest = until_flip(attention, scores, p, ranked)
    items = {
        "attention": attention,
        "gradient_x_input": gradient,
        "weight_gradient": scores,
        "leave_one_out": importance,
        "adversarial_attention": other,
        "minimal_set": smallest,
        "rationale": np.array([float(w in POLARITY) for w in words]),
        "noisy": np.eye(size)[0],
        "noisy_attention": (attention + np.eye(size)[0]) / 2,
        "replaced_attention": (attention + np.eye(size)[-1]) / 2,
        "seed_attention": attention[::-1],
    }
    return values, items, sigmoid(other @ scores)


def token_weights(words, attention):
    """Mean weights relative to uniform, by what the words speak for; NaN where there are none."""
    kinds = {
        "_neutral": [word not in POLARITY for word in words],
        "_polar": [word in POLARITY for word in words],
        "[negative]": [POLARITY.get(word, 0) < 0 for word in words],
        "[positive]": [POLARITY.get(word, 0) > 0 for word in words],
    }
    shares = attention * len(words)
    values = {f"weight{kind}": shares[chosen].mean() if any(chosen) else np.nan for kind, chosen in kinds.items()}
    return values | {"polar_above_neutral": 0.75, "own_above_neutral": 0.7}


def stability(draw):
    """Made-up measures of stability, of the top words and of certificates."""
    values = {
        "seeds": {"max_js": draw.uniform(0, 0.3), "mean_js": draw.uniform(0, 0.2), "shuffled_js": 0.3},
        "embedding_noise": {"js": draw.uniform(0, 0.01), "shuffled_js": 0.3},
        "word_substitution": {"js": draw.uniform(0, 0.1), "shuffled_js": 0.3},
        "certificate": {
            f"{norm}_{kind}": draw.uniform(0, most)
            for norm, most in {"l1": 2, "l2": 1.4, "linf": 1}.items()
            for kind in ("free", "zero_sum", "simplex")
        },
        "comprehensiveness_sufficiency": {},
    }
    values["seeds"] |= {"mean_tvd": 0.05, "flips": 0.0}
    for test in ("embedding_noise", "word_substitution"):
        values[test] |= {"tvd": 0.05, "flips": 0.0}
    for ranking, lost in {"attention": 0.3, "random": 0.1, "gradient_x_input": 0.35, "leave_one_out": 0.4}.items():
        for kind, sign in {"comprehensiveness": 1, "sufficiency": -1}.items():
            for size in ("", "_1", "_3", "_5", "_10", "_20%"):
                values["comprehensiveness_sufficiency"][f"{kind}_{ranking}{size}"] = sign * lost + draw.normal(0, 0.05)
    return values


def adversarial_attention(attention, scores, p):
    """The most different attention on two items that keeps the answer, by trying them all."""
    best, value, goal = attention, 0.0, np.log(p / (1 - p))
    for i in np.argsort(attention)[:6]:
        for j in range(len(scores)):
            gap = scores[i] - scores[j]
            share = (goal - scores[j]) / gap if gap else -1
            if 0 <= share <= 1:
                candidate = np.zeros_like(attention)
                candidate[i] += share
                candidate[j] += 1 - share
                if js(attention, candidate) > value:
                    best, value = candidate, js(attention, candidate)
    return best, value


def single(draw, attention, out, p, ranked):
    both = np.array([p, 1 - p])
    change = np.array([js(both, np.array([q, 1 - q])) for q in out])
    flips = (out > 0.5) != (p > 0.5)
    values = {"some_item_flips": float(flips.any())}
    for name, scores in ranked.items():
        top = int(scores.argmax())
        others = np.delete(np.arange(len(out)), top)
        other = int(draw.choice(others))
        values |= {
            f"flips_{name}": float(flips[top]),
            f"other_flips_{name}": flips[others].mean(),
            f"js_{name}": change[top],
            f"delta_js_{name}": change[top] - change[other],
            f"delta_attention_{name}": attention[top] - attention[other],
            f"mean_delta_js_{name}": change[top] - change[others].mean(),
        }
    return values


def until_flip(attention, scores, p, ranked):
    size, values, smallest = len(scores), {}, np.zeros(len(scores))
    never = not ((scores > 0) != (p > 0.5)).any()
    for name, ranking in ranked.items():
        order = np.argsort(-ranking, kind="stable")
        hits = [m for m in range(1, size) if (erased(attention, scores, order[:m]) > 0.5) != (p > 0.5)]
        count = hits[0] if hits else size
        mass = attention[order[:count]].sum() if hits else 1.0
        if name == "minimal" and hits:
            smallest[order[:count]] = 1
        numbers = {"count": count, "fraction": count / size, "mass": mass}
        values |= {f"{kind}_{name}": np.nan if never else number for kind, number in numbers.items()}
    return values, smallest


def make_audit(folder: Path, texts=60, encoder="average", shown=20, seed=0, labels=LABELS, trick=None):
    """Write the files of an audit; `trick` is a word put at the start of example 1."""
    writer, draw = np.random.default_rng(seed), np.random.default_rng([seed, len(encoder)])
    rows, examples, outcomes = [], [], []
    for example in range(texts):
        words, label = toy_words(writer)
        if trick is not None and example == 1:
            words = [trick, *words[1:]]
        values, items, kept = measure(draw, words, label, *toy_model(draw, words, encoder))
        key = {"run": f"{encoder}-4f1c09aa", "split": "test", "example": example}
        for test, measures in values.items():
            rows += [
                {**key, "item": None, "test": test, "measure": m, "value": float(v), "solver": "exact"}
                for m, v in measures.items()
            ]
        predicted, probability = (values["prediction"][name] for name in ("predicted", "probability"))
        outcomes += text_rows(key, items, predicted, labels, predicted == label, probability)
        if example >= shown:
            continue
        rows += [
            {**key, "item": i, "test": "items", "measure": m, "value": float(v), "solver": "exact"}
            for m, column in items.items()
            for i, v in enumerate(column)
        ]
        examples.append(
            {
                **key,
                "text": " ".join(words),
                "items": words,
                "label": labels[label],
                "predicted": labels[predicted],
                "probability": probability,
                "adversarial_probability": kept if predicted else 1 - kept,
                "replaced": [*words[:-1], SIMILAR],
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame(rows, schema_overrides={"item": pl.Int32, "example": pl.Int32})
    table.sort("split", "example", "test", "measure", "item").write_parquet(folder / "rows.parquet")
    pl.DataFrame(examples, schema=EXAMPLE_SCHEMA).write_parquet(folder / "examples.parquet")
    judged = outcomes_table(outcomes)
    judged.write_parquet(folder / "outcomes.parquet")
    verdict = make_verdict(table, texts, encoder, labels) | {"answer": answer_of(table, judged, labels)}
    (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
    return folder
