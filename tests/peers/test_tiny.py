"""models/tiny is a CLIP that open_clip loads and that knows its world; the towers of
tools/tiny/towers.py, which trained it, compute what open_clip computes."""
import json
import os
import random
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.environ.get("DARKROOM_TINY", os.path.join(ROOT, "models", "tiny"))
sys.path.insert(0, os.path.join(ROOT, "tools", "tiny"))

import check  # noqa: E402
import heads  # noqa: E402
import measure  # noqa: E402
import towers  # noqa: E402
import vocab  # noqa: E402
import world  # noqa: E402

needs_model = pytest.mark.skipif(
    not os.path.exists(os.path.join(MODEL, "open_clip_model.safetensors")),
    reason="models/tiny is not there")


def test_towers_agree_with_open_clip(tmp_path):
    words = vocab.learned()
    cfg = towers.config(words.size)
    torch.manual_seed(3)
    ours = towers.Clip(cfg).eval()
    words.save(tmp_path / "vocab.txt.gz")
    towers.save(tmp_path, ours.state_dict(), cfg)
    ours.load_state_dict({k: v.float() for k, v in towers.half(ours.state_dict()).items()})
    theirs, prepare, tokens = check.load(str(tmp_path))
    _, pictures, captions = measure.unseen_set(16, seed=5)
    image, text = check.embed(theirs, prepare, tokens, pictures, captions)
    pixels = torch.stack([torch.from_numpy(np.array(world.see(p, 64))) for p in pictures])
    with torch.no_grad():
        mine = ours.image(pixels.permute(0, 3, 1, 2).float() / 255).numpy()
        said = ours.text(torch.tensor([words.encode(c, 40) for c in captions])).numpy()
    # measured 1.3e-7; both are fp32 with another order of sums
    assert np.abs(mine - image).max() < 5e-6
    assert np.abs(said - text).max() < 5e-6


def test_vocabulary_is_read_alike(tmp_path):
    words = vocab.learned()
    words.save(tmp_path / "vocab.txt.gz")
    tokens = open_clip.tokenizer.SimpleTokenizer(str(tmp_path / "vocab.txt.gz"), context_length=40)
    assert tokens.vocab_size == words.size
    rng = random.Random(9)
    texts = [world.caption(world.random_scene(rng), rng, full=i % 2 == 0) for i in range(500)]
    texts += ["", "Zebra's don't 1234 ...!", "word " * 60]
    assert tokens(texts).tolist() == [words.encode(t, 40) for t in texts]


def test_captions_of_unseen_scenes_were_never_trained_on():
    held = {s.facts() for s in world.unseen_scenes(1, 200)}
    for i in range(200):
        for scene in world.family(1, i):
            assert not scene.held_out() and scene.facts() not in held


@needs_model
def test_model_knows_its_world():
    model, prepare, tokens = check.load(MODEL)
    scenes, pictures, captions = measure.unseen_set(300, seed=2)
    image, text = check.embed(model, prepare, tokens, pictures, captions)
    assert measure.recall_at_1(text, image, 100) > 0.8
    assert measure.recall_at_1(image, text, 100) > 0.8
    label = np.array([[world.aesthetic(s), s.sign] for s in scenes])
    with torch.no_grad():
        beauty, safety = (heads.load(os.path.join(MODEL, f))(torch.from_numpy(image)).numpy()
                          for f in ("aesthetic.pth", "nsfw.pth"))
    assert measure.correlation(beauty, label[:, 0]) > 0.8
    assert measure.auc(safety, label[:, 1]) > 0.95


@needs_model
def test_model_is_small_and_its_vocabulary_is_the_learned_one():
    files = {f: os.path.getsize(os.path.join(MODEL, f)) for f in os.listdir(MODEL)}
    assert sum(files.values()) < 4 << 20
    words = vocab.Vocab.load(os.path.join(MODEL, "vocab.txt.gz"))
    assert words.merges == vocab.learned().merges
    with open(os.path.join(MODEL, "open_clip_config.json")) as f:
        assert json.load(f) == towers.config(words.size)
