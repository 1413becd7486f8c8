"""Full-size towers with random weights, built now by the libraries that define them.

Cosine > 0.999999 and entries within 1e-4 of the largest: twelve blocks of width 768 with sums in
another order move an entry by some 1e-6 of the largest; a wrong activation or head count shows at
1e-2. Embeddings are compared before normalisation."""
import gc
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")
safetensors_torch = pytest.importorskip("safetensors.torch")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ.get("DARKROOM_BUILD", os.path.join(ROOT, "build")), "tests/peers/clip_tool")
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@pytest.fixture(autouse=True)
def tidy(tmp_path):
    """Half a gigabyte a test is not left behind."""
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)


def pictures(size=224, n=3):
    return np.random.RandomState(1).randint(0, 256, (n, size, size, 3)).astype(np.uint8)


def captions(n=4, context=77):
    r = np.random.RandomState(2)
    out = np.zeros((n, context), np.int32)
    for i, length in enumerate([2, 77, 9, 30]):
        out[i, :length] = r.randint(1, 49000, length)
        out[i, 0], out[i, length - 1] = 49406, 49407
    return out


def as_tensor(pixels, mean=MEAN, std=STD):
    x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div(255)
    return (x - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)


def ours(model, tmp_path, pixels=None, tokens=None, embed=512, activation=None):
    given = {}
    if pixels is not None:
        given["pixels"] = torch.from_numpy(pixels)
    if tokens is not None:
        given["tokens"] = torch.from_numpy(tokens)
    safetensors_torch.save_file(given, str(tmp_path / "in.safetensors"))
    out = subprocess.run([TOOL, str(model), str(tmp_path / "in.safetensors"), str(tmp_path / "out.bin")]
                         + ([activation] if activation else []), capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    e = np.fromfile(tmp_path / "out.bin", np.float32).reshape(-1, embed)
    n = 0 if pixels is None else len(pixels)
    return e[:n], e[n:], json.loads(out.stdout)


def same(got, want):
    want = want.detach().numpy()
    assert got.shape == want.shape
    cos = (got * want).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(want, axis=1)
    worst = np.abs(got - want).max() / np.abs(want).max()
    print("cosine %.9f, worst %.1e" % (cos.min(), worst))
    assert cos.min() > 0.999999
    assert worst < 1e-4


def shake(model):
    """Initial values leave biases at zero and norms at one; make every tensor count."""
    torch.manual_seed(3)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * (0.1 * p.std() + 0.02) if p.numel() > 1 else 0)
    return model.eval()


@pytest.mark.parametrize("arch, quick", [("ViT-B-32", True), ("ViT-B-16", False)])
def test_open_clip(tmp_path, arch, quick):
    open_clip = pytest.importorskip("open_clip")
    model = shake(open_clip.create_model(arch, pretrained=None, force_quick_gelu=quick))
    cfg = open_clip.get_model_config(arch) | {"quick_gelu": quick}
    safetensors_torch.save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                                str(tmp_path / "open_clip_model.safetensors"))
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": cfg, "preprocess_cfg": {}}))
    px, tok = pictures(), captions()
    image, text, about = ours(tmp_path, tmp_path, px, tok)
    with torch.no_grad():
        same(image, model.encode_image(as_tensor(px)))
        same(text, model.encode_text(torch.from_numpy(tok).long()))
    assert about["architecture"] == arch
    assert about["activation"] == ("quick_gelu" if quick else "gelu")
    assert not about["unused"] and about["problem"] is None


LARGE = ["ViT-L-14-336", "ViT-H-14", "ViT-g-14", "ViT-bigG-14"]


@pytest.mark.parametrize("arch", ["ViT-L-14"] + LARGE)
def test_large_towers(tmp_path, arch):
    """One process at a time holds the weights, stored as f16: bigG has 2.5 G of them."""
    open_clip = pytest.importorskip("open_clip")
    if arch in LARGE and not os.environ.get("DARKROOM_LARGE"):
        pytest.skip("set DARKROOM_LARGE=1: takes minutes and up to 16 GB")
    quick, cfg = arch == "ViT-L-14", open_clip.get_model_config(arch)
    model = open_clip.create_model(arch, pretrained=None, force_quick_gelu=quick).half()
    safetensors_torch.save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                                str(tmp_path / "open_clip_model.safetensors"))
    (tmp_path / "open_clip_config.json").write_text(json.dumps(
        {"model_cfg": cfg | {"quick_gelu": quick}, "preprocess_cfg": {}}))
    px, tok = pictures(cfg["vision_cfg"]["image_size"], 1), captions()
    with torch.no_grad():
        tokens = torch.from_numpy(tok).long()
        want_text = model.float().encode_text(tokens)
        want_image = model.encode_image(as_tensor(px))
    del model
    gc.collect()
    image, text, about = ours(tmp_path, tmp_path, px, tok, embed=cfg["embed_dim"])
    same(image, want_image)
    same(text, want_text)
    assert about["architecture"] == arch and not about["unused"]


@pytest.mark.parametrize("patch", [32, 16])
def test_transformers(tmp_path, patch):
    transformers = pytest.importorskip("transformers")
    cfg = transformers.CLIPConfig(vision_config={"patch_size": patch}, text_config={"eos_token_id": 49407})
    model = shake(transformers.CLIPModel(cfg))
    model.save_pretrained(tmp_path)
    transformers.CLIPImageProcessor().save_pretrained(tmp_path)
    px, tok = pictures(), captions()
    image, text, about = ours(tmp_path, tmp_path, px, tok)
    pooled = lambda x: x if torch.is_tensor(x) else x.pooler_output
    with torch.no_grad():
        same(image, pooled(model.get_image_features(pixel_values=as_tensor(px))))
        same(text, pooled(model.get_text_features(input_ids=torch.from_numpy(tok).long())))
    assert about["family"] == "HF transformers"
    assert about["preparation"]["floor_crop"] and about["preparation"]["rgb_first"]


@pytest.mark.parametrize("name, act", [("vit_base_patch32_clip_quickgelu_224", "quick_gelu"),
                                       ("vit_base_patch16_clip_224", "gelu")])
def test_timm(tmp_path, name, act):
    timm = pytest.importorskip("timm")
    model = shake(timm.create_model(name, pretrained=False, num_classes=512))
    timm.models.save_for_hf(model, str(tmp_path), model_config={"num_classes": 512}) \
        if hasattr(timm.models, "save_for_hf") else \
        safetensors_torch.save_file(model.state_dict(), str(tmp_path / "model.safetensors"))
    if not (tmp_path / "config.json").exists():
        (tmp_path / "config.json").write_text(json.dumps({
            "architecture": name, "num_classes": 512, "global_pool": "token",
            "pretrained_cfg": {"mean": MEAN, "std": STD, "interpolation": "bicubic", "input_size": [3, 224, 224]}}))
    px = pictures()
    image, _, about = ours(tmp_path, tmp_path, px)
    with torch.no_grad():
        same(image, model(as_tensor(px)))
    assert about["family"] == "timm" and about["activation"] == act


def test_wrong_activation_is_seen(tmp_path):
    """The bound above must be able to fail."""
    open_clip = pytest.importorskip("open_clip")
    model = shake(open_clip.create_model("ViT-B-32", pretrained=None))
    safetensors_torch.save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                                str(tmp_path / "x.safetensors"))
    px = pictures(n=2)
    image, _, _ = ours(tmp_path / "x.safetensors", tmp_path, px, activation="quick_gelu")
    with torch.no_grad(), pytest.raises(AssertionError):
        same(image, model.encode_image(as_tensor(px)))


def test_positions_as_torch(tmp_path):
    """Position tables for other sizes, through the whole tower of open_clip's own loader."""
    open_clip = pytest.importorskip("open_clip")
    from open_clip.model import resize_pos_embed
    small = shake(open_clip.create_model("ViT-B-32", pretrained=None))
    large = open_clip.create_model("ViT-B-32-256", pretrained=None).eval()
    sd = {k: v.clone() for k, v in small.state_dict().items()}
    safetensors_torch.save_file({k: v.contiguous() for k, v in sd.items()},
                                str(tmp_path / "open_clip_model.safetensors"))
    (tmp_path / "open_clip_config.json").write_text(json.dumps(
        {"model_cfg": open_clip.get_model_config("ViT-B-32-256"), "preprocess_cfg": {}}))
    resize_pos_embed(sd, large)
    large.load_state_dict(sd)
    px = pictures(256)
    image, _, about = ours(tmp_path, tmp_path, px)
    with torch.no_grad():
        same(image, large.encode_image(as_tensor(px)))
    assert about["image_size"] == 256
