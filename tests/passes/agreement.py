"""The standard passes one by one, onnxruntime's results compared before and after each."""

from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.passes import lower_ops
from pfcomp.passes.runner import ROUNDS, STANDARD, apply
from pfcomp.pfvm.emulate import emulated
from pfcomp.pfvm.external import serialised
from pfcomp.pfvm.session import open_session, run_session

REDUCTION = 256
"""Length of the longest sum that `lower_ops` rewrites in the test graphs."""


def outputs(model, feeds):
    """Every output, new states included, of the model as it is: onnxruntime changes nothing of its own."""
    names = [str(value.name) for value in model.graph.outputs]
    defaults = {v.name: v.const_value.numpy() for v in model.graph.inputs if v.const_value is not None}
    session = open_session(serialised(emulated(model)), optimise=False)
    known = {value.name for value in session.get_inputs()}
    given = {name: array for name, array in (defaults | feeds).items() if name in known}
    return dict(zip(names, run_session(session, given), strict=True))


def agreeing(model, feeds):
    """Applies `STANDARD` in place, as `optimise` does, and returns the names of the passes that changed something.

    AssertionError where a pass changes a result: bit by bit, but for the pass that computes in another way.
    """
    changed = []
    before = outputs(model, feeds)
    for _ in range(ROUNDS):
        count = len(changed)
        for item in STANDARD:
            if apply(model, [item], verify=True):
                before = _compared(item, model, feeds, before)
                changed.append(item.name)
        if len(changed) == count:
            break
    return changed


def _compared(item, model, feeds, before):
    after = outputs(model, feeds)
    assert list(after) == list(before)
    limit = tolerance("float32", REDUCTION) if item is lower_ops.PASS else 0.0
    for name, value in before.items():
        assert _same(value, after[name], limit), f"{item.name} changes {name}"
    return after


def _same(value, other, limit):
    if limit:
        return relative_error(other, value) <= limit
    return value.dtype == other.dtype and value.shape == other.shape and value.tobytes() == other.tobytes()
