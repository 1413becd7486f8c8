#!/usr/bin/env python3
"""Small model files written by torch, safetensors and numpy themselves, for tests/unit and as seeds
for the fuzzers. Tensor number k of a file holds arange(n)/8 - k, so tests know the values.

    python tools/golden/make_weights.py            (from the repository root)
"""
import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import torch
from safetensors.torch import save as safetensors_save

DATA = "tests/data/weights"
CORPUS = "tests/fuzz/corpus"


def numbers(k, *shape, dtype=torch.float32):
    n = int(np.prod(shape)) if shape else 1
    return (torch.arange(n, dtype=torch.float32) / 8 - k).reshape(shape).to(dtype)


def state():
    base = numbers(4, 6, 4)
    return OrderedDict(
        [
            ("a.weight", numbers(0, 2, 3)),
            ("a.half", numbers(1, 5, dtype=torch.float16)),
            ("a.bfloat", numbers(2, 3, dtype=torch.bfloat16)),
            ("scalar", numbers(3)),
            ("base", base),
            ("base_t", base.t()),  # the same storage, other strides
            ("window", base[2:5, 1:3]),  # an offset and a gap
            ("ids", torch.arange(7)),
            ("flag", torch.tensor([True, False, True])),
            ("empty", torch.zeros(0, 3)),
        ]
    )


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(numbers(0, 2, 3))
        self.register_buffer("mean", numbers(1, 3, dtype=torch.float16))

    def forward(self, x):
        return x @ self.weight.t() + self.mean.sum().float()


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.blocks = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        self.input_resolution = 224
        with torch.no_grad():
            for k, p in enumerate(self.blocks.parameters()):
                p.copy_(numbers(2 + k, *p.shape))

    def forward(self, x):
        return self.blocks(self.inner(x))


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/darkroom-canary",)


def torch_bytes(value, **options):
    out = io.BytesIO()
    torch.save(value, out, **options)
    return out.getvalue()


def script_bytes():
    out = io.BytesIO()
    torch.jit.save(torch.jit.script(Outer().eval()), out)
    return strip_code(out.getvalue())


def strip_code(data):
    """The same archive without debug information, to keep the fixture small."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as src, zipfile.ZipFile(out, "w") as dst:
        for item in src.infolist():
            if not item.filename.endswith(".debug_pkl"):
                dst.writestr(zipfile.ZipInfo(item.filename), src.read(item))
    return out.getvalue()


def checkpoint():
    model = OrderedDict(("module." + k, v) for k, v in state().items())
    return {
        "epoch": 12,
        "name": "ViT-B-32",
        "lr": 0.1,
        "done": True,
        "state_dict": model,
        "optimizer": {"state": {0: {"step": 5, "exp_avg": numbers(9, 2)}}, "groups": [{"lr": 0.5}]},
        "np": np.float64(1.5),
    }


def safetensors_bytes(tensors, metadata=None):
    return safetensors_save({k: v.contiguous() for k, v in tensors.items()}, metadata=metadata)


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz_bytes(save, **arrays):
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def main():
    shutil.rmtree(DATA, ignore_errors=True)
    tensors = state()
    array = numbers(0, 3, 4).numpy()
    files = {
        "state.pt": torch_bytes(tensors),
        "legacy.pt": torch_bytes(tensors, _use_new_zipfile_serialization=False),
        "script.pt": script_bytes(),
        "checkpoint.pt": torch_bytes(checkpoint()),
        "protocol4.pt": torch_bytes(dict(tensors), pickle_protocol=4),
        "lone.pt": torch_bytes(numbers(0, 2, 2)),
        "evil.pt": torch_bytes({"x": Evil(), "w": numbers(0, 2)}),
        "module.pt": torch_bytes({"model": Evil()}),
        "state.safetensors": safetensors_bytes(tensors, {"format": "pt", "note": "caf\u00e9"}),
        "array.npy": npy_bytes(array),
        "stored.npz": npz_bytes(np.savez, a=array, b=np.arange(5)),
        "deflated.npz": npz_bytes(np.savez_compressed, a=array, b=np.arange(5)),
    }
    halves = list(tensors.items())
    halves = [dict(halves[:4]), dict(halves[4:])]
    names = ["model-0000%d-of-00002.safetensors" % (i + 1) for i in range(2)]
    index = {"metadata": {"total_size": 1}, "weight_map": {}}
    for name, half in zip(names, halves):
        files[name] = safetensors_bytes(half, {"format": "pt"})
        index["weight_map"].update({k: name for k in half})
    files["model.safetensors.index.json"] = json.dumps(index, indent=1).encode()
    for name, data in files.items():
        write(DATA, name, data)

    small = OrderedDict([("w", numbers(0, 2)), ("h", numbers(1, 2, dtype=torch.float16))])
    zipped, legacy = torch_bytes(small), torch_bytes(small, _use_new_zipfile_serialization=False)
    seeds = {
        "torch": [zipped, legacy, files["script.pt"], torch_bytes({"e": 1, "s": small})],
        "zip": [zipped, files["stored.npz"], files["deflated.npz"], b"PK\5\6" + b"\0" * 18],
        "npy": [files["array.npy"], npy_bytes(np.float16([1, 2])), npy_bytes(np.array(3))],
        "safetensors": [
            files["state.safetensors"],
            safetensors_bytes(small),
            struct.pack("<Q", 2) + b"{}",
            files["model.safetensors.index.json"],
        ],
        "pickle": [
            pickle.dumps(v, protocol=p)
            for p in (2, 3, 4, 5)
            for v in (
                {"a": [1, -2, 2**40, 2**90, 1.5, None, True, "text", b"bytes"], "b": (1, (2, 3), {4})},
                Evil(),
            )
        ],
    }
    for folder, items in seeds.items():
        shutil.rmtree(os.path.join(CORPUS, folder), ignore_errors=True)
        for i, data in enumerate(items):
            write(os.path.join(CORPUS, folder), "seed%02d" % i, data)


if __name__ == "__main__":
    main()
