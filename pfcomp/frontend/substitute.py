"""The dispatch mode that keeps real tensors out of a trace (frontend.md 1).

It sits on top of the mode stack, so it sees every operator before the tracer does. A real tensor that is registered
or named is a *state*: it is replaced by a fake twin, which the tracer knows as a placeholder of its own. Any other
real tensor is a constant. The mode also notes which line of the user's code each recorded operation comes from.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, track_tensor_tree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map_only

from pfcomp.errors import SourceError
from pfcomp.frontend.overrides import OVERRIDES
from pfcomp.frontend.randomness import Randomness
from pfcomp.frontend.sources import current_source

SOURCE = "pfcomp.source"
STATE = "pfcomp.state"
_UNRECORDED = ("profiler::_record_function_enter_new", "profiler::_record_function_exit")


def storage_of(tensor: Tensor) -> int:
    """Identity of the memory behind a tensor; views share it."""
    return int(tensor.untyped_storage()._cdata)


class Substitution(TorchDispatchMode):  # type: ignore[misc]
    """See the module's text. `states` maps names to registered tensors, `name_of` finds the name of any other.

    `where` is the line of the function that is recorded.
    """

    def __init__(
        self,
        fake_mode: FakeTensorMode,
        inputs: Mapping[str, Tensor],
        states: Mapping[str, Tensor],
        name_of: Callable[[Tensor], str | None],
        where: str,
    ) -> None:
        super().__init__()
        self.fake_mode = fake_mode
        self.originals: dict[str, Tensor] = {}
        self.leaves: dict[int, Tensor] = {}
        self._without_gradient: list[Tensor] = []
        self.random = Randomness()
        self._name_of = name_of
        self._inputs = {storage_of(tensor): name for name, tensor in inputs.items()}
        self._registered = {id(tensor): (name, tensor) for name, tensor in states.items()}
        self._by_storage = {storage_of(tensor): (name, tensor) for name, tensor in states.items() if tensor.numel()}
        self._taken = set(states)
        self._twins: dict[str, Tensor] = {}
        self._last_placeholder: torch.fx.Node | None = None
        self._forward_lines: dict[int, str] = {}
        self._made = [(weakref.ref(tensor), where) for tensor in inputs.values()]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.name() in _UNRECORDED:
            return func(*args, **(kwargs or {}))
        if func in OVERRIDES:
            with self:
                return OVERRIDES[func](self.random, *args, **(kwargs or {}))
        source = self._source()
        args, kwargs = tree_map_only(Tensor, self._twin_or_self, (args, kwargs or {}))
        self._refuse_forbidden_writes(func, args, kwargs, source)
        result = func(*args, **kwargs)
        annotate(SOURCE, source)
        self._note_made(result, source)
        return result

    def _note_made(self, result: Any, source: str) -> None:
        for tensor in result if isinstance(result, (list, tuple)) else (result,):
            if isinstance(tensor, FakeTensor):
                self._made.append((weakref.ref(tensor), source))

    def kept(self) -> list[str]:
        """Lines that made tensors which are still alive; to be asked when all that the trace itself holds is gone."""
        own = {id(twin) for twin in self._twins.values()}
        if not _alive(self._made, own):
            return []
        gc.collect()  # the graph of a backward pass may be a cycle
        return _alive(self._made, own)

    def _source(self) -> str:
        """Line of the running operation; inside a backward pass the line of the forward operation it belongs to."""
        node = torch._C._current_autograd_node()
        if node is None:
            line = current_source()
            self._forward_lines[torch.autograd._get_sequence_nr() - 1] = line
            return line
        return self._forward_lines.get(node._sequence_nr()) or current_source()

    def _twin_or_self(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        if tensor.requires_grad and tensor.is_leaf:
            self.leaves[id(tensor)] = tensor
        name, original = self._identify(tensor)
        if name is None:
            return tensor
        if name not in self._twins and not original.requires_grad:
            self._without_gradient.append(original)
        twin = self.twin(name, original)
        if tensor is original:
            return twin
        geometry = (tensor.size(), tensor.stride(), tensor.storage_offset())
        if geometry == (original.size(), original.stride(), original.storage_offset()):
            return twin
        return torch.as_strided(twin, *geometry)

    def forget_history(self) -> None:
        """Take the trace off states without gradients: writing a result into one made it part of the autograd graph."""
        for tensor in self._without_gradient:
            if tensor.requires_grad:
                tensor.detach_()

    def state_name(self, tensor: Tensor) -> str | None:
        """Name of a state, None for any other tensor."""
        return self._identify(tensor)[0]

    def resolved(self, tensor: Tensor) -> Tensor:
        """A result of the user's function: the twin of a state that is returned as it is."""
        return self._twin_or_self(tensor)

    def varies(self, tensor: Tensor) -> bool:
        """A recorded tensor depends on an input or a state; False for what is made of constants alone."""
        if not isinstance(tensor, FakeTensor):
            return False
        slot = get_proxy_slot(tensor, get_proxy_mode().tracer, None)
        if slot is None:
            return False
        pending, seen = [slot.proxy.node], set()
        while pending:
            node = pending.pop()
            if node.op == "placeholder":
                return True
            pending += [source for source in node.all_input_nodes if source not in seen]
            seen.update(node.all_input_nodes)
        return False

    def _identify(self, tensor: Tensor) -> tuple[str | None, Tensor]:
        """Name and named tensor that a real tensor is (a view of), or (None, the tensor)."""
        known = self._registered.get(id(tensor)) or self._by_storage.get(storage_of(tensor))
        if known is not None:
            return known
        name = self._name_of(tensor)
        if name is None:
            return None, tensor
        if name in self._taken:
            raise SourceError("PF0302", f"two tensors are named '{name}'", where=current_source())
        self._taken.add(name)
        self._registered[id(tensor)] = (name, tensor)
        if tensor.numel():
            self._by_storage[storage_of(tensor)] = (name, tensor)
        return name, tensor

    def twin(self, name: str, original: Tensor) -> Tensor:
        """Fake counterpart of a state, which the tracer records as a placeholder; made at its first use."""
        if name not in self._twins:
            with _disable_current_modes():
                fake = self.fake_mode.from_tensor(original.detach())
            tracer = get_proxy_mode().tracer
            with self._behind_placeholders(tracer.graph):
                proxy = tracer.create_proxy("placeholder", f"state_{len(self._twins)}", (), {})
            proxy.node.meta[STATE] = name
            self._last_placeholder = proxy.node
            track_tensor_tree(fake, proxy, constant=None, tracer=tracer)
            self._twins[name] = fake
            self.originals[name] = original
        return self._twins[name]

    def _behind_placeholders(self, graph: torch.fx.Graph) -> Any:
        """Insertion point behind the last placeholder of a graph under construction."""
        if self._last_placeholder is None:
            for node in graph.nodes:
                if node.op != "placeholder":
                    return graph.inserting_before(node)
            return nullcontext()
        return graph.inserting_after(self._last_placeholder)

    def _refuse_forbidden_writes(self, func: Any, args: Any, kwargs: Any, source: str) -> None:
        if not func._schema.is_mutable:
            return
        for position, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, Tensor):
                    self._refuse_write(tensor, source)

    def _refuse_write(self, tensor: Tensor, source: str) -> None:
        if not isinstance(tensor, FakeTensor):
            shape = tuple(tensor.shape)
            raise SourceError(
                "PF0311",
                f"a tensor of shape {shape} is changed in place but is neither registered nor named",
                where=source,
                hint="register it with the context or use set_tensor_name",
            )
        name = self._inputs.get(storage_of(tensor))
        if name is not None:
            raise SourceError(
                "PF0310", f"input '{name}' is changed in place", where=source, hint="work on a clone of it"
            )


def _alive(made: Sequence[tuple[weakref.ref[Tensor], str]], own: Container[int]) -> list[str]:
    found = ((reference(), source) for reference, source in made)
    return [source for tensor, source in found if tensor is not None and id(tensor) not in own]


def annotate(key: str, value: str) -> None:
    """Set a metadata entry on the nodes that the tracer recorded since the last call."""
    mode = get_proxy_mode()
    if mode is None:
        return
    for node in reversed(mode.tracer.graph.nodes):
        if key in node.meta or node.op == "placeholder":
            return
        node.meta[key] = value
