"""A CLIP in plain torch, with the parameter names and arithmetic of open_clip, and its file.

Small enough to read in one go: a vision transformer and a causal text transformer, both pre-norm,
projected to one space. `save` writes what open_clip loads as `local-dir:`.
"""
import collections
import json
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

CONFIG = {
    "model_cfg": {
        "embed_dim": 96,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 64, "layers": 6, "width": 128, "head_width": 32,
                       "patch_size": 8},
        "text_cfg": {"context_length": 40, "vocab_size": 0, "width": 96, "heads": 3, "layers": 4},
    },
    "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25],
                       "interpolation": "bicubic", "resize_mode": "shortest"},
}


def config(vocab_size):
    c = json.loads(json.dumps(CONFIG))
    c["model_cfg"]["text_cfg"]["vocab_size"] = vocab_size
    return c


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, causal):
        b, t, w = x.shape
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = qkv.view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out_proj(out.transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(collections.OrderedDict(
            c_fc=nn.Linear(width, 4 * width), gelu=QuickGELU(), c_proj=nn.Linear(4 * width, width)))

    def forward(self, x, causal):
        x = x + self.attn(self.ln_1(x), causal)
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self, width, layers, heads):
        super().__init__()
        self.resblocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        deep = width ** -0.5 * (2 * layers) ** -0.5  # what adds to the residual stream starts small
        for b in self.resblocks:
            nn.init.normal_(b.attn.in_proj_weight, std=width ** -0.5)
            nn.init.normal_(b.attn.out_proj.weight, std=deep)
            nn.init.normal_(b.mlp.c_fc.weight, std=(2 * width) ** -0.5)
            nn.init.normal_(b.mlp.c_proj.weight, std=deep)
            for bias in (b.attn.out_proj.bias, b.mlp.c_fc.bias, b.mlp.c_proj.bias):
                nn.init.zeros_(bias)

    def forward(self, x, causal):
        for b in self.resblocks:
            x = b(x, causal)
        return x


class Vision(nn.Module):
    def __init__(self, embed, image_size, layers, width, head_width, patch_size):
        super().__init__()
        tokens = (image_size // patch_size) ** 2 + 1
        self.conv1 = nn.Conv2d(3, width, patch_size, patch_size, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(width) * width ** -0.5)
        self.positional_embedding = nn.Parameter(torch.randn(tokens, width) * width ** -0.5)
        self.ln_pre = nn.LayerNorm(width)
        self.transformer = Transformer(width, layers, width // head_width)
        self.ln_post = nn.LayerNorm(width)
        self.proj = nn.Parameter(torch.randn(width, embed) * width ** -0.5)

    def forward(self, x):
        x = self.conv1(x).flatten(2).transpose(1, 2)
        cls = self.class_embedding.to(x.dtype).expand(len(x), 1, -1)
        x = self.ln_pre(torch.cat([cls, x], 1) + self.positional_embedding)
        x = self.transformer(x, causal=False)
        return self.ln_post(x[:, 0]) @ self.proj


class Clip(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        m, t = cfg["model_cfg"], cfg["model_cfg"]["text_cfg"]
        pre = cfg["preprocess_cfg"]
        embed, width = m["embed_dim"], t["width"]
        self.visual = Vision(embed, **m["vision_cfg"])
        self.token_embedding = nn.Embedding(t["vocab_size"], width)
        self.positional_embedding = nn.Parameter(torch.randn(t["context_length"], width) * 0.01)
        self.transformer = Transformer(width, t["layers"], t["heads"])
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.randn(width, embed) * width ** -0.5)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        self.register_buffer("mean", torch.tensor(pre["mean"]).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(pre["std"]).view(3, 1, 1), persistent=False)

    def image(self, pixels):
        """[n,3,S,S] in 0..1 -> unit vectors."""
        return F.normalize(self.visual((pixels - self.mean) / self.std).float(), dim=-1)

    def text(self, ids):
        x = self.token_embedding(ids) + self.positional_embedding
        x = self.ln_final(self.transformer(x, causal=True))
        end = x[torch.arange(len(ids), device=ids.device), ids.argmax(-1)]
        return F.normalize((end @ self.text_projection).float(), dim=-1)


def write_safetensors(path, tensors):
    """Widest dtype first, then by name, as the reference writer does; header padded to 8."""
    names = {torch.float32: "F32", torch.float16: "F16"}
    order = sorted(tensors, key=lambda k: (-tensors[k].element_size(), k))
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for k in order:
        t = tensors[k]
        size = t.numel() * t.element_size()
        header[k] = {"dtype": names[t.dtype], "shape": list(t.shape),
                     "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for k in order:
            f.write(tensors[k].contiguous().cpu().numpy().tobytes())


def half(state):
    """The stored form: fp16, but for the one scalar."""
    return {k: v.detach().half() if v.dim() else v.detach().float() for k, v in state.items()}


def save(folder, state, cfg):
    write_safetensors(os.path.join(folder, "open_clip_model.safetensors"), half(state))
    with open(os.path.join(folder, "open_clip_config.json"), "w") as f:
        f.write(json.dumps(cfg, indent=2) + "\n")
