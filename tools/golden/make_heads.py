#!/usr/bin/env python3
"""Write tests/golden/heads: small heads in every layout that people exchange or can describe, and
the scores torch gives.

    tools/golden/make_heads.py            (needs torch, safetensors)

Each folder holds head.{pth,safetensors} (and head.json where the network has to be described) and
want.safetensors: rows f32 [n,d], not of length 1, and score f32 [n], computed by torch in float64
on the rows scaled to length 1 (as they are for "raw")."""
import json
import os
import shutil
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../../tests/golden/heads")
WIDTH = 24


def randomize(net):
    """Numbers large enough that every layer and every activation matters."""
    with torch.no_grad():
        for name, p in list(net.named_parameters()) + list(net.named_buffers()):
            if not p.dtype.is_floating_point:
                continue
            if name.endswith(("running_var", "variance")):
                p.copy_(0.2 + torch.rand_like(p))
            elif p.dim() >= 2:
                p.copy_(torch.randn_like(p) * 1.6 / p.shape[1] ** 0.5)
            elif name.endswith("weight"):
                p.copy_(1 + 0.3 * torch.randn_like(p))
            else:
                p.copy_(0.4 * torch.randn_like(p))
    return net.eval()


def case(name, net, save, describe=None, score=lambda y: y[:, 0], unit=True, width=WIDTH, half=False, seed=None):
    """save(state, folder) writes the weights; score picks the number from what the net gives."""
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    torch.manual_seed(sum(map(ord, seed or name)))
    randomize(net)
    if half:
        net.half()
    rows = torch.randn(37, width) * torch.exp(torch.randn(37, 1))
    rows[3] *= 1e-3
    with torch.no_grad():
        x = rows.double()
        y = score(net.double()(F.normalize(x) if unit else x))
    state = {k: v.float() if v.dtype.is_floating_point else v for k, v in net.state_dict().items()}
    save(state, folder)
    if describe:
        with open(os.path.join(folder, "head.json"), "w") as f:
            json.dump(describe, f, indent=1)
            f.write("\n")
    save_file({"rows": rows, "score": y.float().contiguous()}, os.path.join(folder, "want.safetensors"))


def zipped(state, folder):
    torch.save(state, os.path.join(folder, "head.pth"))


def legacy(state, folder):
    torch.save(state, os.path.join(folder, "head.pth"), _use_new_zipfile_serialization=False)


def safe(state, folder, prefix=""):
    save_file({prefix + k: v.contiguous() for k, v in state.items()}, os.path.join(folder, "head.safetensors"))


class Layers(nn.Module):
    """A Sequential under the name `layers`, as the published heads have it."""

    def __init__(self, *steps):
        super().__init__()
        self.layers = nn.Sequential(*steps)

    def forward(self, x):
        return self.layers(x)


def linear_mse(width=WIDTH, relu=False):
    """improved-aesthetic-predictor: five linear layers, with ReLU between in one release."""
    act = [nn.ReLU()] if relu else []
    return Layers(nn.Linear(width, 20), *act, nn.Dropout(0.2), nn.Linear(20, 12), *act, nn.Dropout(0.2),
                  nn.Linear(12, 8), *act, nn.Dropout(0.1), nn.Linear(8, 6), *act, nn.Linear(6, 1))


def h14(width=WIDTH):
    """The NSFW detector for open_clip's ViT-H/14: ReLU after the first five, none at the end."""
    sizes, steps = [width, 20, 28, 20, 12, 8], []
    for a, b in zip(sizes, sizes[1:]):
        steps += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(0.2)]
    return Layers(*steps, nn.Linear(8, 6), nn.Linear(6, 1))


class Normalization(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x):
        return (x - self.mean) / self.variance.sqrt()


class Nsfw(nn.Module):
    """The AutoKeras NSFW detector for ViT-L/14 as NeMo Curator ships it."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm = Normalization(width)
        self.linear_1, self.linear_2 = nn.Linear(width, 10), nn.Linear(10, 20)
        self.linear_3, self.linear_4 = nn.Linear(20, 14), nn.Linear(14, 1)

    def forward(self, x):
        x = F.relu(self.linear_1(self.norm(x)))
        x = F.relu(self.linear_3(F.relu(self.linear_2(x))))
        return torch.sigmoid(self.linear_4(x))


class Named(nn.Module):
    """Modules by name, run in the given order; functions need no name."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = steps
        for s in steps:
            if isinstance(s, tuple):
                self.add_module(*s)

    def forward(self, x):
        for s in self.steps:
            x = (s[1] if isinstance(s, tuple) else s)(x)
        return x


class Bare(nn.Module):
    """One matrix stored [in,out], no bias."""

    def __init__(self, width, out):
        super().__init__()
        self.classes = nn.Parameter(torch.zeros(width, out))

    def forward(self, x):
        return x @ self.classes


def main():
    case("aesthetic-linear", linear_mse(), zipped)
    case("aesthetic-legacy", linear_mse(), legacy)
    case("aesthetic-prefix", linear_mse(), lambda s, f: safe(s, f, "mlp."), seed="aesthetic-linear")
    case("aesthetic-relu", linear_mse(relu=True), zipped)
    case("nsfw", Nsfw(), zipped)
    case("nsfw-safetensors", Nsfw(), lambda s, f: safe(s, f, "model."))
    case("h14", h14(), zipped)
    case("linear", nn.Linear(WIDTH, 1), zipped)
    case("linear-half", nn.Linear(1030, 1), lambda s, f: safe({k: v.half() for k, v in s.items()}, f), half=True,
         width=1030)
    case("batchnorm", Named(("a", nn.Linear(WIDTH, 10)), ("n", nn.BatchNorm1d(10)), F.relu, ("b", nn.Linear(10, 1))),
         zipped, {"about": "linear, batch norm, ReLU, linear",
                  "layers": [{"linear": "a"}, {"batchnorm": "n"}, "relu", "dropout", {"linear": "b"}]})
    case("batchnorm-last", Named(("a", nn.Linear(WIDTH, 9)), F.gelu, ("n", nn.BatchNorm1d(9, eps=1e-2))), zipped,
         {"layers": [{"linear": "a"}, "gelu", {"batchnorm": "n", "eps": 1e-2}], "output": {"take": 4}},
         score=lambda y: y[:, 4])
    case("layernorm", Named(("n", nn.LayerNorm(WIDTH)), ("a", nn.Linear(WIDTH, 10)), F.gelu,
                            ("m", nn.LayerNorm(10, eps=1e-3)), torch.tanh, ("b", nn.Linear(10, 1)), torch.tanh),
         lambda s, f: safe(s, f, "net.head."),
         {"weights": "head.safetensors", "prefix": "net.head.",
          "layers": [{"layernorm": "n"}, {"linear": "a"}, "gelu", {"layernorm": "m", "eps": 1e-3}, "tanh",
                     {"linear": "b"}, "tanh"]})
    case("layernorm-last", Named(("a", nn.Linear(WIDTH, 10, bias=False)), ("m", nn.LayerNorm(10))), zipped,
         {"layers": [{"linear": "a"}, {"layernorm": "m"}], "output": {"take": 9, "scale": 0.5, "offset": 5}},
         score=lambda y: 0.5 * y[:, 9] + 5)
    case("softmax", Bare(WIDTH, 4), zipped,
         {"layers": [{"linear": {"weight": "classes", "transposed": True}}],
          "output": {"softmax": True, "scale": 20, "take": 2}},
         score=lambda y: torch.softmax(20 * y, 1)[:, 2])
    case("silu-scaled", Named(("s", Normalization(WIDTH)), ("a", nn.Linear(WIDTH, 10)), F.silu,
                              ("b", nn.Linear(10, 3)), torch.sigmoid), zipped,
         {"layers": [{"statistics": {"mean": "s.mean", "variance": "s.variance"}}, {"linear": "a"}, "silu",
                     {"linear": {"weight": "b.weight", "bias": "b.bias"}}, "sigmoid"],
          "output": {"scale": 9, "offset": 1, "take": 1}}, score=lambda y: 9 * y[:, 1] + 1)
    case("raw", Named(("a", nn.Linear(WIDTH, 10)), lambda x: x * torch.sigmoid(1.702 * x), ("b", nn.Linear(10, 1))),
         zipped, {"l2_normalize": False, "layers": [{"linear": "a"}, "quick_gelu", {"linear": "b"}]}, unit=False)


if __name__ == "__main__":
    main()
