"""Columns of every test of the battery, whose means are known: what the verdict is made from."""

import torch

TEXTS = 40


def column(*values: float) -> torch.Tensor:
    """One seed, the values repeated over the texts."""
    return torch.tensor(values, dtype=torch.float64).repeat(TEXTS // len(values))[None]


PREDICTION = {
    "prediction.correct": column(1.0, 1.0, 1.0, 0.0),
    "prediction.label": column(1.0, 0.0, 1.0, 1.0),
    "prediction.probability": column(0.6, 0.8, 0.99, 0.99),
}
EVERYTHING = {
    **PREDICTION,
    "gradient_agreement.tau": column(0.2, 0.4),
    "gradient_agreement.tau_permuted": column(0.2, 0.0),
    "leave_one_out_agreement.tau": column(0.3, 0.1),
    "leave_one_out_agreement.tau_gradient": column(0.6, 0.4),
    "permutation.median_tvd": column(0.1, 0.3),
    "permutation.worst_tvd": column(0.5, 0.7),
    "permutation.some_flips": column(1.0, 0.0),
    "adversarial_attention.js": column(0.3, 0.2),
    "adversarial_attention.cap": column(0.6, 0.4),
    "adversarial_attention.without_top_1": column(1.0, 1.0, 1.0, 0.0),
    "adversarial_attention.without_top_3": column(1.0, 0.0),
    "erase_one.flips_attention": column(1.0, 0.0),
    "erase_one.other_flips_attention": column(0.1, 0.1),
    "erase_one.some_item_flips": column(1.0, 1.0),
    "erase_until_flip.fraction_attention": column(0.4, 0.2),
    "erase_until_flip.fraction_random": column(0.7, 0.5),
    "erase_until_flip.fraction_minimal": column(0.2, 0.0),
    "embedding_noise.js": column(0.01, 0.03),
    "embedding_noise.shuffled_js": column(0.3, 0.1),
    "embedding_noise.tvd": column(0.0, 0.1),
    "embedding_noise.flips": column(0.0, 0.0, 0.0, 1.0),
    "embedding_attack.js_attention": column(0.1, 0.1),
    "embedding_attack.shuffled_js": column(0.3, 0.1),
    "embedding_attack.tvd_answer": column(0.0, 0.1),
    "embedding_attack.flips_answer": column(0.0, 1.0),
    "word_substitution.js": column(0.05, 0.05),
    "word_substitution.shuffled_js": column(0.3, 0.1),
    "word_substitution.tvd": column(0.0, 0.1),
    "word_substitution.flips": column(0.0, 0.0, 1.0, 1.0),
    "seeds.mean_js": column(0.1, 0.2),
    "seeds.shuffled_js": column(0.3, 0.1),
    "seeds.mean_tvd": column(0.0, 0.1),
    "seeds.flips": column(0.0, 0.1),
    "comprehensiveness_sufficiency.comprehensiveness_attention": column(0.4, 0.2),
    "comprehensiveness_sufficiency.comprehensiveness_random": column(0.1, 0.1),
    "comprehensiveness_sufficiency.comprehensiveness_leave_one_out": column(0.6, 0.4),
    "comprehensiveness_sufficiency.sufficiency_attention": column(0.2, 0.1),
    "comprehensiveness_sufficiency.sufficiency_random": column(0.3, 0.3),
    "comprehensiveness_sufficiency.sufficiency_leave_one_out": column(-0.1, 0.1),
    "token_scores.polar_above_neutral": column(0.6, 0.8),
    "token_scores.own_above_neutral": column(0.6, 0.8),
    "token_scores.weight_polar": column(1.4, 1.2),
    "token_scores.weight_neutral": column(0.5, 0.9),
    "sign.speaks_for": column(1.0, 1.0, 0.0, 1.0),
    "sign.others_speak_for": column(0.4, 0.6),
    "sign.some_speaks_for": column(1.0, 1.0),
    "uniform.correct_uniform": column(1.0, 0.0, 1.0, 0.0),
    "uniform_retrained.correct": column(1.0, 1.0, 1.0, 1.0),
    "attefa.cap": column(0.6, 0.4),
    "attefa.constant_tvd": column(0.4, 0.6),
    "attefa.rescaled_tvd": column(0.1, 0.1),
    "attefa.frozen_tvd": column(0.1, 0.0),
    "attefa.frozen_js": column(0.5, 0.3),
    "adversarial_models.tvd_1": column(0.4, 0.6),
    "adversarial_models.js_1": column(0.5, 0.3),
    "adversarial_models.apart_1": column(0.0, 0.0),
    "adversarial_models.tvd_2": column(0.1, 0.1),
    "adversarial_models.js_2": column(0.5, 0.3),
    "adversarial_models.apart_2": column(0.4, 0.6),
}
