"""Programs of the kinds that users bring, by name; each build is the same from the same seed."""

from collections.abc import Callable

from tests.frontend.zoo import (
    add,
    explicit_transfer,
    infer,
    infer_multi,
    io_spec_constraints,
    mnist_mlp,
    ncf,
    networks,
    styles,
    torch_adam,
    train,
    vae_encode,
    vit,
    whisper,
)
from tests.frontend.zoo.program import Program

BUILDERS: dict[str, Callable[[], Program]] = {
    "add": add.build,
    "infer": infer.build,
    "infer_multi": infer_multi.build,
    "io_spec_constraints": io_spec_constraints.build,
    "explicit_transfer": explicit_transfer.build,
    "train": train.build,
    "mnist_mlp": mnist_mlp.build,
    "resnet_bn_train": networks.resnet,
    "vit_train": vit.build,
    "unet_gn_train": networks.unet,
    "llama_kv_cache": networks.llama,
    "whisper": whisper.build,
    "ncf": ncf.build,
    "torch_adam": torch_adam.build,
    "vae_encode": vae_encode.build,
    "detection_head": networks.detector,
    **{f"{style}_infer": styles.builder(style) for style in styles.STYLES},
}
