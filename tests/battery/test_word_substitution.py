from dataclasses import replace

import torch

from heedful.battery import Evidence
from heedful.battery.stability_measures import moves
from heedful.battery.word_substitution import _replaced, similar_words, word_substitution
from heedful.models.trace import trace
from support.evidence import evidence_of
from support.evidence import seeded as draw
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, VOCABULARY, make, make_batch

FIRST = 4


def nearest(table, token, among):
    """One by one: the largest cosine."""
    cosines = {o: torch.cosine_similarity(table[token], table[o], dim=0).item() for o in among if o != token}
    return max(cosines, key=cosines.__getitem__)


def test_a_word_gives_way_to_its_nearest_neighbour():
    table = make().embedding.weight.detach()
    words = torch.arange(FIRST, VOCABULARY)
    wanted = [nearest(table, token, range(FIRST, VOCABULARY)) for token in words.tolist()]
    assert similar_words(table, words, first=FIRST).tolist() == wanted


def test_given_synonyms_are_the_only_choices():
    table = make().embedding.weight.detach()
    synonyms = {5: (7, 8), 6: (10,), 9: (4, 5, 6, 7)}
    wanted = [nearest(table, token, others) for token, others in synonyms.items()]
    assert similar_words(table, torch.tensor(list(synonyms)), synonyms).tolist() == wanted


def replaced(batch, synonyms=None, counts=(1, 2, 3), seed=0):
    table = make().embedding.weight.detach()
    return _replaced(batch, table, FIRST, synonyms, counts, draw(seed))


def a_batch():
    """Of the three texts, the second holds one word only, the others being our symbols."""
    batch = make_batch()
    tokens = torch.randint(FIRST, VOCABULARY, batch.tokens.shape, generator=draw(1)) * batch.mask
    tokens[1, :3] = torch.tensor([1, 2, 3])
    return replace(batch, tokens=tokens)


def test_so_many_words_are_replaced_each_among_those_of_the_larger_count():
    batch = a_batch()
    changed = [(other.tokens != batch.tokens, done) for other, done in replaced(batch)]
    assert [where.sum(1).tolist() for where, _ in changed] == [[1, 1, 1], [2, 1, 1], [3, 1, 1]]
    assert [done.tolist() for _, done in changed] == [[True, True, True], [True, False, False], [True, False, False]]
    assert (changed[0][0] <= changed[1][0]).all() and (changed[1][0] <= changed[2][0]).all()


def test_what_is_shown_is_attention_for_the_first_count_and_the_new_word():
    batch = a_batch()
    evidence = evidence_of(make(), batch)
    with torch.no_grad():
        findings = word_substitution(evidence, draw(), counts=(1, 2))
        table = make().embedding.weight.detach()
        other, _ = _replaced(batch, table, FIRST, None, (1, 2), draw())[0]
        torch.testing.assert_close(findings.items["replaced_attention"], trace(make(), other).attention)
    new = findings.items["replacement"]
    assert torch.equal(~new.isnan(), other.tokens != batch.tokens)
    assert torch.equal(new[~new.isnan()], other.tokens[other.tokens != batch.tokens].double())


def test_every_word_has_its_turn_and_nothing_else():
    batch = a_batch()
    hit = torch.stack([replaced(batch, seed=seed)[0][0].tokens != batch.tokens for seed in range(60)]).any(0)
    assert torch.equal(hit, batch.attendable & (batch.tokens >= FIRST))


def test_words_without_a_synonym_stay():
    batch = a_batch()
    tokens = batch.tokens[0].tolist()
    (other, done), *_ = replaced(batch, {tokens[2]: (tokens[2] % 7 + 4,), tokens[0]: ()}, (1,))
    assert (other.tokens[0] != batch.tokens[0]).nonzero()[:, 0].tolist() in [
        [place] for place, token in enumerate(tokens) if token == tokens[2]
    ]
    assert done[0]


def test_the_changed_text_is_read_anew():
    model, batch = make(), a_batch()
    evidence = evidence_of(model, batch)
    with torch.no_grad():
        values = word_substitution(evidence, draw(), counts=(2, 3)).values
        for suffix, (other, _) in zip(("", "_3"), replaced(batch, counts=(2, 3)), strict=True):
            wanted = moves(evidence, trace(model, other))
            for name, value in wanted.items():
                assert values[f"{name}{suffix}"][0] == value[0]
    assert values["js"][1].isnan() and values["js"][0] > 0


def test_a_model_without_a_table_of_embeddings_has_no_answer():
    values = word_substitution(Evidence(FourVerbs(make()), evidence_of(make()).trace), draw(), counts=(1, 2)).values
    assert all(values[name].isnan().all() for name in ("js", "tvd", "flips", "overlap", "js_2"))
    assert values["shuffled_js"][:2].isfinite().all()


def test_of_a_model_of_the_users_own_all_rows_are_words():
    class Own:
        def __init__(self, model):
            self.embedding = model.embedding
            self.embed, self.encode, self.attend, self.decode = model.embed, model.encode, model.attend, model.decode

    model = make()
    batch = replace(make_batch(), tokens=torch.ones_like(make_batch().tokens) * make_batch().mask)
    with torch.no_grad():
        ours = word_substitution(evidence_of(model, batch), draw()).values["js"]
        own = word_substitution(Evidence(Own(model), trace(model, batch)), draw()).values["js"]
    assert ours.isnan().all() and own[:2].isfinite().all() and len(own) == BATCH == len(LENGTHS)
