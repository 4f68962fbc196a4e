"""The output projection of an attention call, found by what it is applied to."""

import torch
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.models.transformers.calls import CallContext, CallValues, CallWeights
from heedful.models.transformers.network import Inputs, Network


class _LastContext:
    """Keeps what the last call mixes, with the heads of each row side by side."""

    def __init__(self, call: int):
        self.call = call
        self.context_of_rows: Tensor | None = None

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        return weights

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        if call == self.call:
            self.context_of_rows = (weights.to(values.dtype) @ values).transpose(1, 2).flatten(2)
        return None


@torch.no_grad()
def output_projection(network: Network, text: Inputs, call: int) -> nn.Module:
    """The linear layer that the heads' mixtures pass through after that attention call.

    Raises:
        SettingError: where the model applies none that can be recognised, as where something else is mixed in.
    """
    listener, applied = _LastContext(call), []

    def keep(module: nn.Module, arguments: tuple[object, ...]) -> None:
        mixed = listener.context_of_rows
        given = arguments[0] if arguments else None
        if not isinstance(given, Tensor) or mixed is None or given.shape != mixed.shape:
            return
        if torch.allclose(given, mixed, rtol=1e-5, atol=1e-7):
            applied.append(module)

    # GPT-2 and its like have linear layers of their own kind.
    layers = [
        part for part in network.module.modules() if isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D"
    ]
    handles = [part.register_forward_pre_hook(keep) for part in layers]
    try:
        network.logits(text, listener)
    finally:
        for handle in handles:
            handle.remove()
    if not applied:
        raise SettingError(
            f"site 'value-norm' needs the projection that follows attention; {type(network.module).__name__} has none "
            "that could be found. Choose last, layer:N, head:N.M, rollout or all."
        )
    return applied[0]
