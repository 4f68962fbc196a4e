from itertools import permutations

import torch

from heedful.battery.embedding_noise import embedding_noise, noise_on_one_word
from heedful.measures import js_divergence
from support.evidence import evidence_of
from support.evidence import seeded as draw
from support.models import make


def test_noise_falls_on_one_word_of_each_text():
    seen = evidence_of(make()).trace
    hit = torch.stack([(noise_on_one_word(seen, draw(seed)) != 0).any(-1) for seed in range(60)])
    assert (hit.sum(-1) == 1).all()
    assert torch.equal(hit.any(0), seen.batch.attendable_mask)  # every word some time, padding never


def test_each_radius_is_the_variance_of_the_same_noise():
    model = make()
    evidence = evidence_of(model)
    with torch.no_grad():
        values = embedding_noise(evidence, draw(), radii=(0.04, 0.25)).values
        noise = noise_on_one_word(evidence.trace, draw())
        for suffix, scale in {"": 0.2, "_0.25": 0.5}.items():
            encoded = model.encode(evidence.trace.embedded + scale * noise, evidence.trace.batch)
            _, attention = model.attend(encoded, evidence.trace.batch)
            wanted = js_divergence(attention, evidence.attention, evidence.items)
            torch.testing.assert_close(values[f"js{suffix}"][:2], wanted[:2])
    assert (values["js_0.25"][:2] > values["js"][:2]).all()


def test_what_is_shown_is_attention_at_the_first_radius_and_the_noisy_word():
    evidence = evidence_of(make())
    with torch.no_grad():
        findings = embedding_noise(evidence, draw(), radii=(0.25, 0.04))
    js = js_divergence(findings.items["noisy_attention"], evidence.attention, evidence.items)
    torch.testing.assert_close(js[:2], findings.values["js"][:2])
    assert torch.equal(findings.items["noisy"] == 1, (noise_on_one_word(evidence.trace, draw()) != 0).any(-1))


def test_the_floor_is_the_mean_over_all_permutations_of_the_weights():
    evidence = evidence_of(make())
    weights = evidence.attention[1, :4]
    permuted = torch.stack([weights[list(order)] for order in permutations(range(4))])
    wanted = js_divergence(permuted, weights.expand_as(permuted)).mean()
    values = embedding_noise(evidence, draw()).values
    torch.testing.assert_close(values["shuffled_js"][1], wanted)
