"""The preparation against the code that models were trained with: torchvision's transforms, open_clip's
image_transform, and the HF processor's PIL path. Pixels and normalised floats, bit for bit."""
import io
import os
import sys

import numpy as np
import pytest
from PIL import Image, features

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))
from prep_peer import *  # noqa: E402

MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@pytest.fixture(scope="module")
def tool():
    t = Tool()
    yield t
    t.close()


def pictures(seed, count=40):
    """Formats and modes that hold pixels exactly, and JPEGs, in random sizes."""
    rng = np.random.default_rng(seed)
    kinds = list(png_kinds())
    for i in range(count):
        w, h = (int(v) for v in np.exp(rng.uniform(np.log(8), np.log(800), 2)))
        if i % 2: yield any_png(rng, w, h, *kinds[int(rng.integers(len(kinds)))])
        else: yield saved(Image.fromarray(scene(rng, w, h, 3)), "JPEG", quality=85, progressive=bool(i % 4))


def floats(tool, rgb, mean=MEAN, std=STD):
    lut = tool.lut(mean, std)
    return np.stack([lut[c][rgb[..., c]] for c in range(3)])


def test_torchvision(tool):
    transforms = pytest.importorskip("torchvision.transforms")
    for size, bicubic in ((224, True), (64, False)):
        mode = transforms.InterpolationMode.BICUBIC if bicubic else transforms.InterpolationMode.BILINEAR
        t = transforms.Compose([transforms.Resize(size, mode), transforms.CenterCrop(size), lambda im: im.convert("RGB"),
                                transforms.ToTensor(), transforms.Normalize(*IMAGENET)])
        for data in pictures([30, size]):
            got = floats(tool, tool.prep(data, size=size, filter=BICUBIC if bicubic else BILINEAR), *IMAGENET)
            assert np.array_equal(got, t(Image.open(io.BytesIO(data))).numpy())


@pytest.mark.parametrize("mode", ["shortest", "squash"])
def test_open_clip(tool, mode):
    open_clip = pytest.importorskip("open_clip")
    t = open_clip.image_transform(224, is_train=False, mean=MEAN, std=STD, resize_mode=mode, interpolation="bicubic")
    for data in pictures([31, mode == "squash"]):
        got = floats(tool, tool.prep(data, fit=SQUASH if mode == "squash" else CROP))
        assert np.array_equal(got, t(Image.open(io.BytesIO(data))).numpy())


def test_hf_processor(tool):
    """Its floats are v * (1/255) in double, rounded, so they may differ from v / 255 in the last bit;
    the pixels must not."""
    clip = pytest.importorskip("transformers.models.clip.image_processing_pil_clip")
    plain = clip.CLIPImageProcessorPil(do_rescale=False, do_normalize=False)
    full = clip.CLIPImageProcessorPil()
    for data in pictures(32):
        rgb = tool.prep(data, floor=1, rgb_first=1, white=1)
        im = Image.open(io.BytesIO(data))
        want = np.asarray(plain(im, return_tensors="np")["pixel_values"][0])
        assert np.array_equal(rgb, np.moveaxis(want, 0, -1).astype(np.uint8))
        want = np.asarray(full(im, return_tensors="np")["pixel_values"][0])
        assert np.abs(floats(tool, rgb) - want).max() < 1e-6


def truncated(data, share):
    return data[:int(len(data) * share)] + b"\xff\xd9"


def test_where_the_decoders_differ(tool):
    """Report, not proof: our libjpeg-turbo and the one inside this Pillow on the same files."""
    rng = np.random.default_rng(33)
    kinds = {"whole": 0, "progressive, whole": 0, "progressive, scans missing": 0}
    levels = dict.fromkeys(kinds, 0)
    for i in range(60):
        w, h = (int(v) for v in rng.integers(20, 500, 2))
        im = Image.fromarray(scene(rng, w, h, 3))
        base = saved(im, "JPEG", quality=85, subsampling=int(rng.integers(3)))
        prog = saved(im, "JPEG", quality=85, progressive=True)
        scans = [k for k in range(len(prog) - 1) if prog[k:k + 2] == b"\xff\xda"]
        few = prog[:scans[len(scans) // 2]] + b"\xff\xd9"
        for kind, data in zip(kinds, (base, prog, few)):
            ours = tool.decode(data, keep=1)[1][..., :3]
            d = np.abs(ours.astype(int) - np.asarray(Image.open(io.BytesIO(data)))).max()
            kinds[kind] += bool(d)
            levels[kind] = max(levels[kind], int(d))
    print(f"\nours against libjpeg-turbo {features.version('libjpeg_turbo')}:")
    for kind in kinds: print(f"  {kind}: {kinds[kind]} of 60 differ, by up to {levels[kind]} levels")
