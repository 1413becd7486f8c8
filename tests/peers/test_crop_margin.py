"""A short side apart from the crop: timm's crop_pct, to the last float."""
import json

import numpy as np
import pytest
from conftest import darkroom
from PIL import Image

timm = pytest.importorskip("timm")
MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


@pytest.mark.parametrize("part,size", [(0.875, (201, 157)), (0.9, (90, 300)), (1.0, (201, 157))])
def test_timm_crop_pct(tmp_path, part, size):
    import safetensors.torch
    from timm.data import create_transform
    model = timm.create_model("vit_base_patch32_clip_224.openai", pretrained=False, num_classes=16, img_size=64,
                              embed_dim=64, depth=2, num_heads=1)
    safetensors.torch.save_file(model.state_dict(), tmp_path / "model.safetensors")
    cfg = {"mean": MEAN, "std": STD, "interpolation": "bicubic", "crop_pct": part, "input_size": [3, 64, 64], "crop_mode": "center"}
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "vit_base_patch32_clip_224", "num_classes": 16,
                                                      "model_args": {"num_heads": 1}, "pretrained_cfg": cfg}))
    small = np.random.default_rng(0).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    picture = Image.fromarray(small).resize(size, Image.BICUBIC)
    picture.save(tmp_path / "t.png")
    darkroom("inspect", tmp_path / "t.png", "--model", tmp_path, "-o", tmp_path / "t.npy", check=0)
    want = create_transform((3, 64, 64), is_training=False, interpolation="bicubic", mean=MEAN, std=STD, crop_pct=part)(picture)
    assert np.array_equal(np.load(tmp_path / "t.npy"), want.numpy())
