"""The page's arithmetic in JavaScript against that of Python."""

import numpy as np
import pytest
import torch

from heedful.measures import js_divergence, total_variation_distance

pytestmark = pytest.mark.browser

CASES = 40
CALL = """async ([name, cases]) => {
    const core = await import("heedful/core.js");
    return cases.map(values => core[name](...values));
}"""
RENORMALISE = """async cases => {
    const { renormalize } = await import("heedful/core.js");
    return cases.map(([attention, items, weight, pinned]) => renormalize(attention, items, weight, new Set(pinned)));
}"""
FRAGMENTS = """async states => {
    const { fromFragment, toFragment, initial } = await import("heedful/state.js");
    return states.map(state => fromFragment(toFragment({ ...initial, ...state })));
}"""


@pytest.fixture(scope="module")
def page(browser, live):
    """An empty page of the server, for its modules to be imported in."""
    from support.live import TOKEN

    context = browser.new_context()
    opened = context.new_page()
    opened.goto(f"{live.address}/?token={TOKEN}")
    yield opened
    context.close()


def distributions(generator, size):
    """Weights that sum to 1, some of them 0, some of them all on one."""
    weights = generator.dirichlet(np.full(size, 0.3))
    weights[generator.random(size) < 0.3] = 0
    return (weights / weights.sum()).tolist() if weights.sum() else [1.0, *[0.0] * (size - 1)]


def test_mixture_and_softmax(page):
    generator = np.random.default_rng(0)
    sizes = [(1 + case % 7, 2 + case % 4) for case in range(CASES)]
    cases = [
        (
            (np.array(distributions(generator, items)) * (0.5 if items % 3 == 0 else 1)).tolist(),
            (10 * generator.normal(size=(items, classes))).tolist(),
            generator.normal(size=classes).tolist(),
        )
        for items, classes in sizes
    ]
    logits = page.evaluate(CALL, ["mixture", cases])
    expected = [np.array(a) @ np.array(own) + (1 - sum(a)) * np.array(empty) for a, own, empty in cases]
    assert all(np.allclose(ours, theirs, atol=1e-9) for ours, theirs in zip(logits, expected, strict=True))
    probabilities = page.evaluate(CALL, ["softmax", [[each] for each in [*logits, [1000.0, 0.0, -1000.0]]]])
    for ours, theirs in zip(probabilities, [*expected, np.array([1000.0, 0.0, -1000.0])], strict=True):
        assert ours == pytest.approx(torch.tensor(theirs, dtype=torch.float64).softmax(-1).tolist(), abs=1e-12)


def test_divergences(page):
    for name, reference in [("totalVariation", total_variation_distance), ("jsDivergence", js_divergence)]:
        generator = np.random.default_rng(1)
        pairs = [[distributions(generator, 2 + case % 9) for _ in "pq"] for case in range(CASES)]
        pairs += [[p, p] for p, _ in pairs[:5]]
        pairs += [[p, (np.array(p) * 0.9999 + 0.0001 / len(p)).tolist()] for p, _ in pairs[:5]]
        ours = page.evaluate(CALL, [name, pairs])
        theirs = [float(reference(*(torch.tensor([each], dtype=torch.float64) for each in pair))) for pair in pairs]
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_set_weight_is_reached_and_the_others_keep_their_proportions(page):
    generator, cases = np.random.default_rng(2), []
    for case in range(4 * CASES):
        size = 2 + case % 6
        attention, items = distributions(generator, size), [int(generator.integers(size))]
        if case % 3 == 0:
            items = sorted(generator.choice(size, 1 + case % size, replace=False).tolist())
        pinned = [at for at in range(size) if generator.random() < 0.25]
        cases.append((attention, items, float(generator.uniform(-0.2, 1.2)), pinned))
    for (before, items, weight, pinned), after in zip(cases, page.evaluate(RENORMALISE, cases), strict=True):
        assert sum(after) == pytest.approx(1, abs=1e-9) and min(after) >= -1e-12
        held = [at for at in pinned if not (len(items) == 1 and at == items[0])]
        assert [after[at] for at in held] == pytest.approx([before[at] for at in held], abs=1e-12)
        least = sum(before[at] for at in held if at in items)
        most = 1 - sum(before[at] for at in held if at not in items)
        free = [at for at in range(len(before)) if at not in items and at not in held]
        own = [at for at in items if at not in held]
        if free and own:
            assert sum(after[at] for at in items) == pytest.approx(min(max(weight, least), most), abs=1e-9)
        for group in (free, own):
            total = sum(before[at] for at in group)
            if total > 1e-9:
                scale = sum(after[at] for at in group) / total
                assert [after[at] for at in group] == pytest.approx([before[at] * scale for at in group], abs=1e-9)


def test_a_state_survives_its_link(page):
    states = [
        {"model": "k", "text": "a & b = c # d + é\n%20", "query": "why?", "other": "m", "second": ""},
        {"model": "k", "text": "", "attention": [0.25, 0.5, 0.25], "pinned": [1]},
        {"model": "k", "text": "so", "wordAttention": [0.5, 0.5, 1]},
    ]
    returned = page.evaluate(FRAGMENTS, states)
    for state, again in zip(states[:1] + states[2:], returned[:1] + returned[2:], strict=True):
        assert all(again[name] == value for name, value in state.items())
    assert returned[1] is None, "a link without a text is no state"
