#!/usr/bin/env python3
"""Write tests/golden/clip: small CLIPs with random weights, saved by the libraries that define
each checkpoint family, with the embeddings those libraries compute.

    tools/golden/make_clip.py            (needs torch, open_clip, transformers, timm, safetensors)

Each folder holds a model as its family lays it out, and want.safetensors: pixels u8 [n,S,S,3],
tokens i32 [m,context] (zero padded), image f32 [n,e], text f32 [m,e], meta (image_size of the
pictures when it is not the model's own)."""
import functools
import json
import os
import shutil
import sys

import numpy as np
import open_clip
import timm
import torch
import transformers
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg, CustomTextCLIP, resize_pos_embed
from safetensors.torch import save_file
from timm.layers import QuickGELU
from timm.models.vision_transformer import VisionTransformer

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(
    os.path.dirname(__file__), "../../tests/golden/clip")
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
HALF = (0.5, 0.5, 0.5)


def fresh(name):
    torch.manual_seed(sum(map(ord, name)))
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def randomize(model):
    """Larger than usual initial values, so that every part of a tower matters."""
    for name, p in model.named_parameters():
        with torch.no_grad():
            if name.endswith(("ln_1.weight", "ln_2.weight", "norm.weight")) or p.dim() == 1 and "weight" in name:
                p.copy_(1 + 0.2 * torch.randn_like(p))
            elif p.dim() >= 2:
                p.copy_(torch.randn_like(p) * (1.4 / max(p[0].numel(), 1) ** 0.5))
            else:
                p.copy_(0.3 * torch.randn_like(p))
    return model.eval()


def rounded(model, dtype):
    """Weights that survive storage as dtype."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.to(dtype).float())
    return model


def pictures(size, n=3):
    y, x = np.mgrid[0:size, 0:size]
    out = [np.stack([(x * 255 // max(size - 1, 1) + 40 * i) % 256, (y * 3 + x * i) % 256,
                     (x * y + 17 * i) % 256], -1) for i in range(n)]
    noise = np.random.RandomState(5).randint(0, 64, (n, size, size, 3))
    return np.clip(np.array(out) + noise, 0, 255).astype(np.uint8)


def captions(context, vocab, n=4):
    r = np.random.RandomState(6)
    out = np.zeros((n, context), np.int32)
    for i, length in enumerate([2, context, 5, max(3, context // 2)][:n]):
        out[i, :length] = r.randint(1, vocab - 2, length)
        out[i, 0], out[i, length - 1] = vocab - 2, vocab - 1
    return out


def tensor_of(pixels, mean, std):
    x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div(255)
    return (x - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)


def want(folder, image=None, text=None, pixels=None, tokens=None, name="want", size=0):
    out = {}
    if image is not None:
        out |= {"pixels": torch.from_numpy(pixels), "image": image.float().contiguous()}
    if text is not None:
        out |= {"tokens": torch.from_numpy(tokens), "text": text.float().contiguous()}
    if size:
        out["size"] = torch.tensor([size], dtype=torch.int32)
    save_file(out, os.path.join(folder, name + ".safetensors"))


def dump(folder, name, obj):
    with open(os.path.join(folder, name), "w") as f:
        json.dump(obj, f, indent=1)
        f.write("\n")


def open_clip_case(name, vision, text, embed, quick=False, mean=MEAN, std=STD, dtype=torch.float32,
                   custom=False, save="folder", resized=(), resize_mode="shortest"):
    folder = fresh(name)
    kind = CustomTextCLIP if custom else CLIP
    cfg = dict(embed_dim=embed, vision_cfg=vision, text_cfg=text)
    if quick:
        cfg["quick_gelu"] = True
    if custom:
        cfg["custom_text"] = True
    build = lambda v: kind(embed, CLIPVisionCfg(**v), CLIPTextCfg(**text), quick_gelu=quick)
    model = rounded(randomize(build(vision)), dtype)
    px, tok = pictures(vision["image_size"]), captions(text["context_length"], text["vocab_size"])
    with torch.no_grad():
        want(folder, model.encode_image(tensor_of(px, mean, std)),
             model.encode_text(torch.from_numpy(tok).long()), px, tok)
    state = {k: v.to(dtype) for k, v in model.state_dict().items()}
    if save == "folder":
        save_file(state, os.path.join(folder, "open_clip_model.safetensors"))
        dump(folder, "open_clip_config.json", {"model_cfg": cfg, "preprocess_cfg": {
            "mean": mean, "std": std, "interpolation": "bicubic", "resize_mode": resize_mode}})
    else:  # a training checkpoint, with the model configuration beside it
        torch.save({"epoch": 3, "name": "run", "state_dict": {"module." + k: v for k, v in state.items()},
                    "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3}]}},
                   os.path.join(folder, "epoch_3.pt"))
        dump(folder, "epoch_3.json", cfg)
    for size in resized:  # open_clip's own loader does the resizing
        other = build(dict(vision, image_size=size)).eval()
        sd = {k: v.clone() for k, v in model.state_dict().items()}
        resize_pos_embed(sd, other)
        other.load_state_dict(sd)
        px = pictures(size, 2)
        with torch.no_grad():
            want(folder, other.encode_image(tensor_of(px, mean, std)), pixels=px,
                 name="want-%d" % size, size=size)


class Bag(torch.nn.Module):
    """A module tree that holds tensors by name: what a TorchScript archive of OpenAI's holds."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def openai_case():
    folder = fresh("openai")
    model = open_clip.model.CLIP(32, CLIPVisionCfg(layers=2, width=64, patch_size=8, image_size=16),
                                 CLIPTextCfg(context_length=9, vocab_size=50, width=64, heads=1, layers=1),
                                 quick_gelu=True)
    randomize(model)
    # OpenAI's archives hold the matrix products and their biases in f16, the rest in f32.
    half = lambda k: any(x in k for x in ("attn.", "mlp.", "conv1", "visual.proj", "text_projection"))
    state = {k: v.half() if half(k) else v for k, v in model.state_dict().items() if "attn_mask" not in k}
    root = Bag()
    for key, value in state.items():
        at = root
        *path, leaf = key.split(".")
        for part in path:
            if not hasattr(at, part):
                at.add_module(part, Bag())
            at = getattr(at, part)
        at.register_parameter(leaf, torch.nn.Parameter(value.clone(), requires_grad=False))
    for key, n in (("input_resolution", 16), ("context_length", 9), ("vocab_size", 50)):
        root.register_buffer(key, torch.tensor(n))
    path = os.path.join(folder, "ViT-X-8.pt")
    torch.jit.save(torch.jit.script(root), path)
    sd = torch.jit.load(path, map_location="cpu").state_dict()
    ref = open_clip.model.build_model_from_openai_state_dict(dict(sd), cast_dtype=torch.float32).float().eval()
    px, tok = pictures(16), captions(9, 50)
    with torch.no_grad():
        want(folder, ref.encode_image(tensor_of(px, MEAN, STD)),
             ref.encode_text(torch.from_numpy(tok).long()), px, tok)


def hf_cases():
    vc = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
              image_size=28, patch_size=7, projection_dim=20, hidden_act="quick_gelu")
    tc = dict(hidden_size=16, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
              vocab_size=60, max_position_embeddings=12, projection_dim=20, hidden_act="quick_gelu",
              eos_token_id=59, bos_token_id=58, pad_token_id=0)
    proc = dict(do_center_crop=True, do_normalize=True, do_resize=True, do_rescale=True,
                image_mean=HALF, image_std=STD, resample=3)
    px, tok = pictures(28), captions(12, 60)

    folder = fresh("hf")
    m = randomize(transformers.CLIPModel(transformers.CLIPConfig(
        vision_config=vc, text_config=tc, projection_dim=20)))
    m.save_pretrained(folder)
    dump(folder, "preprocessor_config.json", proc | {"size": {"shortest_edge": 28},
                                                     "crop_size": {"height": 28, "width": 28}})
    hf_want(folder, m, px, tok, HALF, STD)

    folder = fresh("hf-vision")  # in shards, GELU, other activation and epsilon
    m = randomize(transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(
        **(vc | dict(hidden_act="gelu", layer_norm_eps=1e-3, patch_size=14)))))
    m.save_pretrained(folder, max_shard_size="20KB")
    with torch.no_grad():
        want(folder, m(pixel_values=tensor_of(px, MEAN, STD)).image_embeds, pixels=px)

    folder = fresh("hf-text")  # a pickle, with the position_ids that older versions saved
    m = randomize(transformers.CLIPTextModelWithProjection(transformers.CLIPTextConfig(**tc)))
    sd = m.state_dict() | {"text_model.embeddings.position_ids": torch.arange(12)[None]}
    torch.save(sd, os.path.join(folder, "pytorch_model.bin"))
    m.config.architectures = ["CLIPTextModelWithProjection"]
    m.config.save_pretrained(folder)
    with torch.no_grad():
        want(folder, text=m(input_ids=torch.from_numpy(tok).long()).text_embeds, tokens=tok)

    folder = fresh("hf-bare")  # no projection: the pooled output is the embedding
    m = randomize(transformers.CLIPVisionModel(transformers.CLIPVisionConfig(
        **(vc | dict(patch_size=7, image_size=14)))))
    px = pictures(14)
    m.save_pretrained(folder)
    with torch.no_grad():
        want(folder, m(pixel_values=tensor_of(px, MEAN, STD)).pooler_output, pixels=px)


def hf_want(folder, m, px, tok, mean, std):
    def features(x):
        return x if torch.is_tensor(x) else x.pooler_output
    with torch.no_grad():
        want(folder, features(m.get_image_features(pixel_values=tensor_of(px, mean, std))),
             features(m.get_text_features(input_ids=torch.from_numpy(tok).long())), px, tok)


def timm_vit(quick, classes, pre_norm=True, eps=1e-5, width=24, heads=3, depth=2):
    return randomize(VisionTransformer(
        img_size=16, patch_size=8, embed_dim=width, depth=depth, num_heads=heads, mlp_ratio=2, pre_norm=pre_norm,
        num_classes=classes, act_layer=QuickGELU if quick else torch.nn.GELU,
        norm_layer=functools.partial(torch.nn.LayerNorm, eps=eps)))


def timm_cases():
    px = pictures(16)
    for name, quick, pre, eps, arch in (
            ("timm", True, True, 1e-5, "vit_base_patch32_clip_quickgelu_224"),
            ("timm-plain", False, False, 1e-6, "vit_small_patch16_224")):
        folder = fresh(name)
        m = timm_vit(quick, 20, pre, eps)
        save_file(m.state_dict(), os.path.join(folder, "model.safetensors"))
        dump(folder, "config.json", {"architecture": arch, "num_classes": 20, "num_features": 24,
             "global_pool": "token", "model_args": {"num_heads": 3}, "pretrained_cfg": {
                 "input_size": [3, 16, 16], "interpolation": "bicubic", "crop_pct": 1.0,
                 "crop_mode": "center", "mean": HALF, "std": STD, "num_classes": 20}})
        with torch.no_grad():
            want(folder, m(tensor_of(px, HALF, STD)), pixels=px)

    folder = fresh("open_clip-timm-trunk")
    trunk = rounded(timm_vit(False, 0, width=64, heads=1, depth=1), torch.float16)
    head = torch.nn.Linear(64, 20, bias=False)
    text = dict(context_length=8, vocab_size=40, width=16, heads=2, layers=1)
    full = randomize(CustomTextCLIP(20, CLIPVisionCfg(layers=1, width=16, head_width=8, patch_size=8, image_size=16),
                                    CLIPTextCfg(**text)))
    state = {"visual.trunk." + k: v.half() for k, v in trunk.state_dict().items()}
    state["visual.head.proj.weight"] = head.weight.detach()
    state |= {k: v for k, v in full.state_dict().items() if not k.startswith("visual.")}
    save_file(state, os.path.join(folder, "open_clip_model.safetensors"))
    dump(folder, "open_clip_config.json", {"model_cfg": {
        "embed_dim": 20, "custom_text": True, "text_cfg": text, "vision_cfg": {
            "timm_model_name": "vit_base_patch16_clip_224", "timm_pool": "token",
            "timm_proj": "linear", "image_size": 16}}})
    tok = captions(8, 40)
    with torch.no_grad():
        want(folder, head(trunk(tensor_of(px, MEAN, STD))),
             full.encode_text(torch.from_numpy(tok).long()), px, tok)


def main():
    os.makedirs(OUT, exist_ok=True)
    text = dict(context_length=10, vocab_size=48, width=16, heads=2, layers=2)
    vit = dict(layers=2, width=24, head_width=8, patch_size=14, image_size=42)
    open_clip_case("open_clip", vit | dict(mlp_ratio=4.3637), text, 20, mean=HALF, std=HALF,
                   resized=(28, 70), resize_mode="squash")
    open_clip_case("open_clip-quick-fp16", dict(layers=3, width=32, head_width=16, patch_size=8, image_size=24),
                   text, 20, quick=True, dtype=torch.float16)
    open_clip_case("open_clip-checkpoint", dict(layers=2, width=16, head_width=8, patch_size=8, image_size=16),
                   text, 12, quick=True, save="checkpoint")
    open_clip_case("open_clip-custom-text", dict(layers=1, width=24, head_width=12, patch_size=8, image_size=32),
                   text, 20, custom=True, dtype=torch.bfloat16)
    open_clip_case("open_clip-no-ln-pre", dict(layers=2, width=16, head_width=8, patch_size=8, image_size=16,
                                              no_ln_pre=True), text, 12)
    for head in (80, 88, 104):
        open_clip_case("open_clip-head-%d" % head, dict(layers=1, width=head, head_width=head, patch_size=4,
                                                        image_size=16, mlp_ratio=0.5),
                       dict(text, layers=1), 16, dtype=torch.bfloat16)
    openai_case()
    hf_cases()
    timm_cases()


main()
