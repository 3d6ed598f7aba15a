"""Hands a producer's output to a consumer on the device: no copy, no layout conversion.

The consumer is compiled first. The producer is then told to write its output the way the consumer wants to read its
input; its output proxy is used by the consumer in place.
"""

import argparse
import tempfile

import torch

from mlsdk import Context, MNDevice, storage


def produce(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"doubled": inputs["x"] * 2}


def consume(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"result": inputs["value"] + 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    context = Context(MNDevice(arguments.device))
    folder = storage.path(tempfile.gettempdir()) / "io_spec_constraints"
    sample = torch.ones(32, 64)
    options = {"float_dtype": "float"}
    consumer = context.compile(consume, {"value": sample}, folder / "consumer", options=options, training=False)
    wanted = consumer.input_specs["value"]
    producer = context.compile(
        produce,
        {"x": sample},
        folder / "producer",
        options=options,
        training=False,
        io_spec_constraints={"doubled": wanted},
    )
    assert producer.output_specs["doubled"].is_memcopyable_to(wanted)

    doubled = producer({"x": sample})["doubled"]
    result = consumer({"value": doubled})["result"].cpu()
    assert torch.equal(result, torch.full((32, 64), 3.0))
    print("producer -> consumer direct-use succeeded")


if __name__ == "__main__":
    main()
