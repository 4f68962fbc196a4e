"""Parts of texts against texts that are written out shorter."""

from dataclasses import replace

import pytest
import torch

from heedful.attribution import deletion
from heedful.attribution.subsets import logits_of_subsets, logits_with_zeroed_words
from heedful.data.batching import rows_of_batch
from heedful.models.trace import trace
from heedful.types import Batch
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, TIME, give_attention, make, make_batch


def seen_by(model, batch):
    with torch.no_grad():
        return trace(model, batch)


def close(actual, wanted):
    torch.testing.assert_close(actual, wanted, atol=1e-10, rtol=0, equal_nan=True)


def of_case(encoder, attention, classes, has_query, head="linear"):
    model = make(encoder, attention, classes, has_query, head)
    batch = make_batch(has_query)
    if attention == "frozen":
        batch = give_attention(batch, hierarchical=encoder == "hierarchical")
    return model, seen_by(model, batch)


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn"])
def test_a_part_is_read_as_a_text_of_its_own(encoder):
    model = make(encoder, classes=5)
    batch = make_batch()
    seen = seen_by(model, batch)
    keep = torch.rand(BATCH, 5, TIME, generator=torch.Generator().manual_seed(0)) < 0.5
    actual = logits_of_subsets(model, seen, keep)
    for row in range(BATCH):
        for part in range(5):
            tokens = [batch.tokens[row, i].item() for i in range(LENGTHS[row]) if keep[row, part, i]]
            undefined = torch.full_like(seen.logits[row], torch.nan)
            close(actual[row, part], _reference(model, tokens) if tokens else undefined)


def _reference(model, tokens):
    tokens = torch.tensor([tokens])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    return seen_by(model, Batch(torch.tensor([0]), tokens, mask, mask, torch.tensor([0]))).logits[0]


@pytest.mark.parametrize("encoder", ["average", "bilstm", "hierarchical"])
def test_the_whole_text_is_the_text_and_nothing_is_nothing(encoder):
    model, seen = of_case(encoder, "additive", 2, False)
    whole = torch.stack([seen.encoded.items, torch.zeros_like(seen.encoded.items)], 1)
    actual = logits_of_subsets(model, seen, whole)
    close(actual[:, 0], seen.logits)
    assert actual[:, 1].isnan().all()
    close(logits_of_subsets(FourVerbs(model), seen, whole), actual)


@pytest.mark.parametrize("encoder", ["average", "bilstm"])
def test_a_part_without_weight_is_undefined(encoder):
    """All weight is imposed on the first token: any part without it has none, whatever padding carries."""
    given = torch.zeros(BATCH, TIME).double()
    given[:, 0] = 1.0
    batch = make_batch()
    model = make(encoder, "frozen")
    seen = seen_by(model, replace(batch, imposed_attention=given.masked_fill(~batch.mask, 0.5)))
    keep = torch.rand(BATCH, 5, TIME, generator=torch.Generator().manual_seed(0)) < 0.5
    actual = logits_of_subsets(model, seen, keep)
    assert (actual.isnan().any(-1) == ~keep[..., 0]).all() and keep[..., 0].any() and not keep[..., 0].all()


def test_a_very_sharp_attention_leaves_a_rest_with_its_shape():
    """Without the first token the weights of the others are those of its own softmax, not 0 / 0."""
    model, seen = of_case("average", "additive", 2, False)
    lead = torch.zeros_like(seen.scores)
    lead[:, 0] = 5000.0
    sharp = replace(seen, scores=seen.scores + lead, attention=torch.zeros_like(lead).masked_fill(lead > 0, 1.0))
    keep = seen.encoded.items[:2, None] & (lead[:2, None] == 0)
    keep = torch.cat([keep, torch.zeros_like(keep[:1])])
    close(logits_of_subsets(model, sharp, keep)[:2], logits_of_subsets(model, seen, keep)[:2])


def test_any_model_gets_what_ours_get():
    model, seen = of_case("average", "additive", 2, False)
    keep = torch.rand(BATCH, 7, TIME, generator=torch.Generator().manual_seed(1)) < 0.6
    left = (keep & seen.encoded.items[:, None]).any(-1)
    close(logits_of_subsets(FourVerbs(model), seen, keep)[left], logits_of_subsets(model, seen, keep)[left])


def test_a_head_that_is_not_linear_reads_parts_too():
    model, seen = of_case("average", "additive", 2, False, head="tanh")
    keep = torch.rand(BATCH, 7, TIME, generator=torch.Generator().manual_seed(1)) < 0.6
    close(logits_of_subsets(model, seen, keep), logits_of_subsets(FourVerbs(model), seen, keep))


def test_where_no_state_depends_on_another_nothing_is_read_again(monkeypatch):
    model, seen = of_case("average", "additive", 2, False)
    monkeypatch.setattr(deletion, "trace_of", lambda *_: pytest.fail("was read"))
    logits_of_subsets(model, seen, seen.encoded.items[:, None])


@pytest.mark.parametrize("encoder", ["bilstm", "hierarchical"])
def test_zeroed_words_have_no_embedding_and_stay_in_the_text(encoder):
    model, seen = of_case(encoder, "additive", 2, False)
    items = seen.encoded.items
    keep = torch.rand(BATCH, 2, items.shape[1], generator=torch.Generator().manual_seed(1)) < 0.5
    actual = logits_with_zeroed_words(model, seen, keep)
    for part in range(2):
        embedded = seen.embedded.clone()
        for row in range(BATCH):
            for place in range(LENGTHS[row]):
                item = place // 3 if encoder == "hierarchical" else place
                if not keep[row, part, item]:
                    embedded[row, place] = 0
        encoded = model.encode(embedded, seen.batch)
        close(actual[:, part], model.decode(encoded, model.attend(encoded, seen.batch)[1]).detach())


def test_texts_of_which_the_same_is_left_are_read_once(monkeypatch):
    model, batch = make(), rows_of_batch(make_batch(), torch.tensor([0, 1, 1, 2, 0]))
    seen = seen_by(model, replace(batch, tokens=batch.tokens.roll(1, 0) * batch.mask))
    nothing, read, encode = torch.zeros_like(seen.encoded.items[:, None]), [], model.encode
    monkeypatch.setattr(model, "encode", lambda embedded, batch: read.append(len(embedded)) or encode(embedded, batch))
    logits = logits_with_zeroed_words(model, seen, nothing)
    assert read == [3], "texts of 7, 4, 4, 1 and 7 words"
    close(logits, logits_with_zeroed_words(FourVerbs(model), seen, nothing))
    logits_with_zeroed_words(model, seen, seen.encoded.items[:, None])
    assert read[-1] == 5, "nothing is zeroed, and no two texts are alike"
