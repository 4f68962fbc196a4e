import torch

from heedful.battery import Context


def test_what_needs_the_context_alone_is_computed_once():
    asked = []

    def length(context, more):
        asked.append(more)
        return len(context.vocabulary) + more

    context = Context(vocabulary=("a", "b"))
    assert [context.once(length, 1), context.once(length, 1), context.once(length, 5)] == [3, 3, 7]
    assert asked == [1, 5]


def test_without_counts_no_token_is_known():
    assert Context().token_counts().equal(torch.zeros(0, 2, dtype=torch.long))
