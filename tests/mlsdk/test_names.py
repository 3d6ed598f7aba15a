"""The public names and how they can be called: the table follows mlsdk.md 1."""

import inspect
from importlib import import_module

import pytest
import torch

import mlsdk

NAMES = (
    *("CacheOptions", "CompiledFunction", "Context", "MNCoreAdam", "MNCoreAdamW", "MNCoreLRScheduler"),
    *("MNCoreOptimizer", "MNCoreSGD", "MNDevice", "TensorLike", "TensorProxy", "get_tensor_name"),
    *("register_pytree_dataclass", "register_pytree_namedtuple", "set_buffer_name_in_optimizer", "set_tensor_name"),
    *("set_tensor_name_in_module", "storage", "trace_event", "trace_scope"),
)

COMPILE = ("options", "cache_options", "num_compiler_threads", "quiet", "export_kwargs", "optimizers", "training",
           "io_spec_constraints")  # fmt: skip
ADAM = ("lr", "betas", "eps", "weight_decay")
ADAM_BEFORE = ("learning_rate", "alpha", "beta", "norm_coefficient", "epsilon", "chainer_use_torch")
LLM = "mlsdk.experimental.llm"
MASK = "prepare_4d_causal_attention_mask_with_cache_position"

# module, name (with its attribute), number of positional arguments, keywords of one call
CALLS = [
    ("mlsdk", "MNDevice", 0, ("device_name",)),
    ("mlsdk", "Context", 0, ("device",)),
    ("mlsdk", "Context.switch_context", 0, ("context",)),
    ("mlsdk", "Context.compile", 4, COMPILE),
    ("mlsdk", "Context.compile", 1, ("function", "inputs", "codegen_dir")),
    ("mlsdk", "Context.compile_automap", 5, ("options",)),
    ("mlsdk", "Context.load_codegen_dir", 1, ("path",)),
    ("mlsdk", "Context.register_param", 2, ()),
    ("mlsdk", "Context.register_buffer", 2, ()),
    ("mlsdk", "Context.register_optimizer_buffers", 2, ()),
    ("mlsdk", "Context.get_registered_value_proxy", 2, ()),
    ("mlsdk", "Context.synchronize", 1, ()),
    ("mlsdk", "Context.invalidate", 1, ()),
    ("mlsdk.context", "NamedTensors.register", 1, ("name", "obj")),
    ("mlsdk", "CompiledFunction.__call__", 1, ("inputs",)),
    ("mlsdk", "CompiledFunction.allocate_input_proxy", 1, ()),
    ("mlsdk", "IOSpec.is_memcopyable_to", 1, ("other",)),
    ("mlsdk", "TensorProxy.cpu", 1, ()),
    ("mlsdk", "TensorProxy.load_from", 1, ("src", "clone")),
    ("mlsdk", "CacheOptions", 1, ()),
    (
        "mlsdk",
        "CacheOptions",
        0,
        ("cache_dir", "enable_app_cache", "enable_onnx_cache", "enable_codegen_cache", "enable_gpfn2obj_cache"),
    ),
    ("mlsdk", "storage.path", 0, ("target",)),
    ("mlsdk", "path", 1, ()),
    ("mlsdk", "MNCoreSGD", 4, ()),
    ("mlsdk", "MNCoreSGD", 1, ("lr", "momentum", "dampening", "weight_decay")),
    ("mlsdk", "MNCoreAdam", 1, (*ADAM, "chainer_use_torch")),
    ("mlsdk", "MNCoreAdam", 1, ADAM_BEFORE),
    ("mlsdk", "MNCoreAdamW", 1, ADAM),
    ("mlsdk", "MNCoreAdamW", 1, ("learning_rate", "beta1", "beta2", "eps", "weight_decay")),
    ("mlsdk", "MNCoreLRScheduler", 2, ()),
    ("mlsdk", "MNCoreLRScheduler.step", 1, ()),
    ("mlsdk", "set_tensor_name", 2, ()),
    ("mlsdk", "set_tensor_name_in_module", 2, ()),
    ("mlsdk", "get_tensor_name", 1, ()),
    ("mlsdk", "set_buffer_name_in_optimizer", 2, ()),
    ("mlsdk", "register_pytree_namedtuple", 1, ()),
    ("mlsdk", "register_pytree_dataclass", 1, ()),
    ("mlsdk", "trace_scope", 0, ("filename",)),
    ("mlsdk", "trace_event", 0, ("name",)),
    (f"{LLM}.attention_mask", MASK, 3, ()),
    (f"{LLM}.attention_mask", MASK, 0, ("attention_mask", "position_ids", "dtype")),
    (f"{LLM}.kv_cache", "kv_cache_to_tensor", 1, ()),
    (f"{LLM}.kv_cache", "kv_cache_to_legacy", 1, ()),
    (f"{LLM}.kv_cache", "kv_cache_to_plamo", 1, ()),
    (f"{LLM}.modeling_staged_llama", "split_llama", 2, ()),
    ("fx2onnx", "set_tensor_name", 2, ()),
    ("fx2onnx.linter", "lint", 1, ("args", "lint_level")),
    ("fx2onnx.linter", "LintResult.dump", 1, ()),
]


def test_all_is_the_documented_list():
    assert sorted(mlsdk.__all__) == list(NAMES)


def test_every_name_can_be_imported():
    for name in NAMES:
        assert getattr(mlsdk, name) is not None


@pytest.mark.parametrize(("module", "name", "positional", "keywords"), CALLS)
def test_every_documented_call_fits(module, name, positional, keywords):
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    inspect.signature(found).bind(*range(positional), **dict.fromkeys(keywords))


def test_what_is_not_documented_is_refused():
    weight = torch.nn.Parameter(torch.ones(2))
    for optimizer in (mlsdk.MNCoreSGD, mlsdk.MNCoreAdam, mlsdk.MNCoreAdamW):
        with pytest.raises(TypeError):
            optimizer([weight], unknown=1.0)
    mlsdk.MNCoreAdam([weight], learning_rate=1e-3, alpha=0.9, beta=0.999, norm_coefficient=0.0, epsilon=1e-8,
                     chainer_use_torch=True)  # fmt: skip
    mlsdk.MNCoreAdamW([weight], learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01)


def test_properties_and_types():
    assert all(isinstance(vars(mlsdk.CompiledFunction)[name], property) for name in ("input_specs", "output_specs"))
    assert issubclass(mlsdk.MNCoreOptimizer, torch.optim.Optimizer)
    assert issubclass(mlsdk.MNCoreSGD, mlsdk.MNCoreOptimizer)
    assert set(mlsdk.TensorLike.__args__) == {torch.Tensor, mlsdk.TensorProxy}
    assert import_module("fx2onnx").set_tensor_name is mlsdk.set_tensor_name
    assert import_module("fx2onnx.linter").LintLevel.INFO is not None
    assert isinstance(import_module("fx2onnx").FX2ONNX_EXPORTER_TENSOR_NAME_ATTR, str)
    assert callable(mlsdk.Context(mlsdk.MNDevice("pfvm:cpu")).registry.register)


def test_further_names():
    assert mlsdk.path is mlsdk.storage.path
    assert not hasattr(mlsdk, "codegen_base_dir")


def test_shim():
    import mncore

    assert not [name for name in vars(mncore) if not name.startswith("__")]
