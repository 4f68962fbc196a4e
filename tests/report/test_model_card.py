"""Model cards: metadata that Hugging Face reads, and numbers that are those of the answer."""

from huggingface_hub import ModelCard

from heedful.report.model_card import model_card
from tests.support.answered import make_answered

METRIC = "attention_points_to_key_words"
YES, NO, FEW = (100, 1.0, 0.95), (100, 0.9, 0.1), (12, 1.0, 0.9)
LABELS = ('the "good" | one', "bad", "rare")


def card_of(*shares, labels=LABELS, **more):
    verdict = make_answered(shares, labels[: len(shares)], **more)
    card = ModelCard(model_card(verdict, verdict.answer))
    return verdict, card, {result.metric_name: result for result in card.data.eval_results or ()}


def test_hugging_face_reads_the_shares_of_every_judged_class():
    verdict, card, results = card_of(YES, NO, FEW)
    assert card.data.model_name == verdict.model
    points = {name: result.metric_value for name, result in results.items() if result.metric_type == METRIC}
    overall, (good, bad, _) = verdict.answer.overall, verdict.answer.classes
    assert points == {
        "Attention points to the key words": round(overall.shares.points.value, 4),
        'Attention points to the key words, predicted the "good" | one': round(good.shares.points.value, 4),
        "Attention points to the key words, predicted bad": round(bad.shares.points.value, 4),
    }
    assert {result.dataset_name for result in results.values()} == {"reviews"}


def test_the_section_has_answer_shares_seeds_and_limits():
    verdict, card, _ = card_of(YES, NO, FEW, replaced=(YES, NO, FEW), seeds=3)
    text, answer = card.text, verdict.answer
    assert f"**{answer.headline}.**".replace("|", "\\|") in text and "Show attention." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 1 + len(LABELS)
    assert {line.replace("\\|", "").count("|") for line in rows} == {rows[0].count("|")}
    for own in (answer.overall, *answer.classes):
        name = (own.shares.label or "all texts").replace("|", "\\|")
        assert sum(line.startswith(f"| {name} | {own.answer} | {own.shares.texts} |") for line in rows) == 1
    assert "- Class rare: 12 texts were audited" in text and "One seed was audited" not in text
    assert "Data: 212 test texts of reviews" in text


def test_no_share_is_published_of_a_model_that_learned_nothing():
    _, card, results = card_of(YES, NO, is_learned=False)
    assert "**Nothing to explain.**" in card.text
    assert not [result for result in results.values() if result.metric_type == METRIC]
