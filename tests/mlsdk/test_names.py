"""The public names."""

import mlsdk

NAMES = (
    *("CacheOptions", "CompiledFunction", "Context", "MNCoreAdam", "MNCoreAdamW", "MNCoreLRScheduler"),
    *("MNCoreOptimizer", "MNCoreSGD", "MNDevice", "TensorLike", "TensorProxy", "get_tensor_name"),
    *("register_pytree_dataclass", "register_pytree_namedtuple", "set_buffer_name_in_optimizer", "set_tensor_name"),
    *("set_tensor_name_in_module", "storage", "trace_event", "trace_scope"),
)


def test_all_is_the_documented_list():
    assert sorted(mlsdk.__all__) == list(NAMES)


def test_every_name_can_be_imported():
    for name in NAMES:
        assert getattr(mlsdk, name) is not None


def test_further_names():
    assert mlsdk.path is mlsdk.storage.path
    assert not hasattr(mlsdk, "codegen_base_dir")


def test_shim():
    import mncore

    assert not [name for name in vars(mncore) if not name.startswith("__")]
