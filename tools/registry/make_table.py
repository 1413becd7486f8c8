#!/usr/bin/env python3
"""Write src/model/registry_table.c: the CLIP ViTs that open_clip, timm and HF publish, by name.

Facts only (sizes, tags, activation, preprocessing, repository ids), taken from the installed
packages. Run it again after updating them:  tools/registry/make_table.py > src/model/registry_table.c
"""
import glob
import json
import os

import open_clip
import open_clip.pretrained as pretrained
import timm

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)

# Repositories in transformers' own layout, beside those open_clip lists. (arch, tag) -> repository.
HF = {
    ("ViT-B-32", "openai"): "openai/clip-vit-base-patch32",
    ("ViT-B-16", "openai"): "openai/clip-vit-base-patch16",
    ("ViT-L-14", "openai"): "openai/clip-vit-large-patch14",
    ("ViT-L-14-336", "openai"): "openai/clip-vit-large-patch14-336",
    ("ViT-B-32", "metaclip_400m"): "facebook/metaclip-b32-400m",
    ("ViT-B-32", "metaclip_fullcc"): "facebook/metaclip-b32-fullcc2.5b",
    ("ViT-B-16", "metaclip_400m"): "facebook/metaclip-b16-400m",
    ("ViT-B-16", "metaclip_fullcc"): "facebook/metaclip-b16-fullcc2.5b",
    ("ViT-L-14", "metaclip_400m"): "facebook/metaclip-l14-400m",
    ("ViT-L-14", "metaclip_fullcc"): "facebook/metaclip-l14-fullcc2.5b",
    ("ViT-H-14", "metaclip_fullcc"): "facebook/metaclip-h14-fullcc2.5b",
}


def plain_archs():
    """Architectures that are a ViT and a causal transformer and nothing else."""
    out = {}
    folder = os.path.join(os.path.dirname(open_clip.__file__), "model_configs")
    for path in sorted(glob.glob(folder + "/ViT-*.json")):
        name = os.path.basename(path)[:-5]
        c = json.load(open(path))
        v, t = c["vision_cfg"], c["text_cfg"]
        strange = ("pool_type", "ls_init_value", "timm_model_name", "attentional_pool", "no_ln_pre",
                   "hf_model_name", "hf_tokenizer_name", "no_causal_mask", "embed_cls", "act_kwargs")
        if any(k in v or k in t for k in strange) or isinstance(v["layers"], list):
            continue
        if "multimodal_cfg" in c or name.endswith("-quickgelu"):
            continue
        head = v.get("head_width", 64)
        out[name] = (v["image_size"], v["patch_size"], v["width"], v["layers"], v["width"] // head,
                     int(v["width"] * v.get("mlp_ratio", 4.0)), t["width"], t["layers"], t["heads"],
                     c["embed_dim"])
    return out


def main():
    archs = plain_archs()
    print("/* registry_table.c - made by tools/registry/make_table.py from open_clip %s and timm %s.\n"
          " * Names, sizes and what a weight file cannot say about itself. Do not edit. */"
          % (open_clip.__version__, timm.__version__))
    print('#include "model/registry.h"\n')
    print("const struct model_arch model_archs[] = {")
    for name, a in sorted(archs.items()):
        print('    {"%s", %s},' % (name, ", ".join(map(str, a))))
    print("    {0},\n};\n")

    print("const struct model_row model_rows[] = {")
    for arch, tags in pretrained._PRETRAINED.items():
        if arch not in archs:
            quick = arch.removesuffix("-quickgelu")
            if quick not in archs:
                continue
            # "-quickgelu" only switches the activation on; tags that are listed under it alone
            # (H-14 and bigG-14 metaclip, H-14 dfn5b) must not be lost.
            tags = {t: c for t, c in tags.items() if t not in pretrained._PRETRAINED.get(quick, {})}
            arch = quick
        for tag, c in tags.items():
            mean = {OPENAI_MEAN: "NORM_OPENAI", (0.5, 0.5, 0.5): "NORM_HALF",
                    (0.485, 0.456, 0.406): "NORM_IMAGENET"}[tuple(c["mean"])]
            row = [arch, tag, c["hf_hub"].rstrip("/"), HF.get((arch, tag), "")]
            row = ", ".join('"%s"' % x if x else "NULL" for x in row)
            act = "ACT_QUICK_GELU" if c.get("quick_gelu") else "ACT_GELU"
            fit = "FIT_SQUASH" if c["resize_mode"] == "squash" else "FIT_CROP"
            how = "FILTER_BILINEAR" if c["interpolation"] == "bilinear" else "FILTER_BICUBIC"
            file = os.path.basename(c["url"])
            print('    {%s, %s, %s, %s, %s, %s},'
                  % (row, '"%s"' % file if file else "NULL", act, mean, fit, how))
    print("    {0},\n};\n")

    print("const struct model_timm model_timms[] = {")
    quick_tags = {n.replace("clip_quickgelu_", "clip_") for n in timm.list_pretrained("vit_*_clip_quickgelu_*")}
    for name in timm.list_pretrained("vit_*_clip_*"):
        cfg = timm.get_pretrained_cfg(name)
        if "_ft_" in name or cfg.num_classes > 1280 or not cfg.hf_hub_id:
            continue
        # Under its plain name timm runs GELU also on weights that were trained with QuickGELU.
        native = any("QuickGELU" in n for n in cfg.notes or ()) or name in quick_tags
        native = native or name.endswith(("clip_224.dfn2b", "clip_224.dfn5b"))
        print('    {"%s", "%s", %s, %d},' % (
            name, cfg.hf_hub_id if cfg.hf_hub_id.count("/") else "timm/" + cfg.hf_hub_id,
            "ACT_QUICK_GELU" if "quickgelu" in name else "ACT_GELU",
            int(native and "quickgelu" not in name)))
    print("    {0},\n};")


main()
