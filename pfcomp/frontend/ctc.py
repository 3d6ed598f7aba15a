"""Connectionist temporal classification as tensor operations, so that its gradient comes from the parts.

One row per sequence, one column per state: blank, label, blank, label, ..., blank. The logarithm of the probability of
all alignments that end in a state moves from frame to frame by at most two states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pfcomp.errors import SourceError
from pfcomp.frontend.sources import current_source

IMPOSSIBLE = -1e30
"""Logarithm of the probability of what cannot be; -inf would make gradients NaN."""


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """As `torch.nn.functional.ctc_loss`; `log_probs` is [frames, sequences, classes] or [frames, classes].

    Targets are [sequences, labels]; joined ones ([all labels]) need lengths that are Python numbers, SourceError PF0308
    otherwise.
    """
    batched = log_probs.dim() == 3
    scores = log_probs if batched else log_probs.unsqueeze(1)
    labels = _labels(targets, target_lengths, scores.shape[1])
    frames, lengths = (torch.as_tensor(n, dtype=torch.int64).reshape(-1) for n in (input_lengths, target_lengths))
    loss = _loss(scores, labels, frames, lengths, blank)
    if zero_infinity:
        loss = torch.where(torch.isinf(loss), 0.0, loss)
    if reduction == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def _labels(targets: Tensor, lengths: Any, sequences: int) -> Tensor:
    """[sequences, labels]; what lies behind a sequence's own length does not matter."""
    if targets.dim() == 2:
        return targets
    if sequences == 1:
        return targets.unsqueeze(0)
    if isinstance(lengths, Tensor) or not isinstance(lengths, Sequence):
        what = "ctc_loss with joined targets needs the values of their lengths while the function is traced"
        hint = "give the targets as [sequences, labels], or the lengths as Python numbers"
        raise SourceError("PF0308", what, where=current_source(), hint=hint)
    parts = targets.split(list(lengths))
    longest = max(lengths)
    padded = [torch.nn.functional.pad(part, (0, longest - length)) for part, length in zip(parts, lengths, strict=True)]
    return torch.stack(padded)


def _loss(scores: Tensor, labels: Tensor, frames: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """[sequences]: minus the logarithm of the probability of the labels; inf where no alignment fits."""
    states = torch.full((labels.shape[0], 2 * labels.shape[1] + 1), blank, dtype=torch.int64)
    places = torch.arange(states.shape[1])
    odd = places % 2 == 1
    spread = labels.to(torch.int64).repeat_interleave(2, dim=1)
    states = torch.where(odd, torch.nn.functional.pad(spread, (0, 1)), states)
    before = torch.nn.functional.pad(states, (2, 0), value=blank)[:, :-2]
    jumps = odd & (states != before)  # a blank between two labels may be left out if they differ
    emitted = scores.gather(2, states.expand(scores.shape[0], -1, -1))
    alpha = torch.where(places < 2, emitted[0], IMPOSSIBLE)
    for frame in range(1, scores.shape[0]):
        step, jump = _moved(alpha, 1), torch.where(jumps, _moved(alpha, 2), IMPOSSIBLE)
        following = torch.stack([alpha, step, jump]).logsumexp(0) + emitted[frame]
        alpha = torch.where(frames.unsqueeze(1) > frame, following, alpha)
    last = lengths.unsqueeze(1) * 2
    ends = torch.where((places == last) | (places == last - 1), alpha, IMPOSSIBLE).logsumexp(1)
    return torch.where(ends < IMPOSSIBLE / 2, torch.inf, -ends)


def _moved(alpha: Tensor, count: int) -> Tensor:
    """What stood `count` states before."""
    return torch.nn.functional.pad(alpha, (count, 0), value=IMPOSSIBLE)[:, :-count]
