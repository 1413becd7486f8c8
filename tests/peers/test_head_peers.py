"""Heads at their published sizes against torch, through the program: the real LAION aesthetic
predictor (skipped where the file is not at hand), the NSFW detectors with random weights, and
prompts against open_clip.

References are torch in float64, layer by layer; ours are folded and in float32."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
pq = pytest.importorskip("pyarrow.parquet")
from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
DARKROOM = Path(os.environ.get("DARKROOM_BUILD", ROOT / "build")) / "darkroom"
sys.path.insert(0, str(ROOT / "tools/golden"))
import make_heads  # noqa: E402

REAL = "sac+logos+ava1-l14-linearMSE.pth"


def real_head():
    for d in filter(None, (os.environ.get("DARKROOM_DATA"), ROOT / "../shared/data", ROOT / "../../shared/data")):
        if (Path(d) / REAL).exists():
            return Path(d) / REAL
    pytest.skip(f"{REAL} is not at hand (set DARKROOM_DATA to its folder)")


def rows(n, width, seed=0, dtype=np.float32, length=True):
    x = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return (x if length else x * 7).astype(dtype)


def score(place, x, *words):
    (place / "img_emb").mkdir(parents=True, exist_ok=True)
    np.save(place / "img_emb/img_emb_0.npy", x)
    subprocess.run([DARKROOM, "score", place, "-q", *map(str, words)], check=True)
    return {k: np.array(v) for k, v in pq.read_table(place / "scores/scores_0.parquet").to_pydict().items()}


def unit(x):
    x = torch.from_numpy(np.asarray(x, np.float64))
    return x / x.norm(dim=1, keepdim=True)


def aesthetic():
    return make_heads.Layers(nn.Linear(768, 1024), nn.Dropout(0.2), nn.Linear(1024, 128), nn.Dropout(0.2),
                             nn.Linear(128, 64), nn.Dropout(0.1), nn.Linear(64, 16), nn.Linear(16, 1)).eval()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_real_aesthetic_predictor(tmp_path, dtype):
    path = real_head()
    net = aesthetic()
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    x = rows(20000, 768, dtype=dtype)
    got = score(tmp_path / "place", x, "--head", f"aesthetic={path}")["aesthetic_score"]
    with torch.no_grad():
        plain = net(F.normalize(torch.from_numpy(x.astype(np.float32))))[:, 0].numpy()
        exact = net.double()(unit(x))[:, 0].numpy()
    ours, theirs = np.abs(got - exact).max(), np.abs(plain - exact).max()
    print(f"\n{np.dtype(dtype)}: scores {exact.min():.3f} to {exact.max():.3f}; "
          f"folded against float64 {ours:.2e}, torch's own float32 {theirs:.2e}")
    assert ours < 5e-6


def test_folding_is_exact_to_float32(tmp_path):
    """The folded weights against the unfolded network in float64: the unit vectors read them off."""
    path = real_head()
    net = aesthetic()
    net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    x = np.eye(768, dtype=np.float32)
    got = score(tmp_path / "place", np.vstack([x, -x]), "--head", f"a={path}")["a_score"].astype(np.float64)
    with torch.no_grad():
        net = net.double()
        w = net(torch.eye(768, dtype=torch.float64))[:, 0].numpy()
        b = float(net(torch.zeros(1, 768, dtype=torch.float64)))
    # w + b and -w + b, each rounded once
    far = max(np.abs(got[:768] - w).max(), np.abs(got[768:] - (2 * b - w)).max())
    print(f"\nbias {b:.6f}, largest weight {np.abs(w - b).max():.3f}, largest difference {far:.2e}")
    assert far < 2e-6


def test_nsfw_as_nemo_curator_has_it(tmp_path):
    torch.manual_seed(1)
    net = make_heads.Nsfw(768)
    net.linear_1, net.linear_2 = nn.Linear(768, 64), nn.Linear(64, 512)
    net.linear_3, net.linear_4 = nn.Linear(512, 256), nn.Linear(256, 1)
    make_heads.randomize(net)
    x = rows(5000, 768, 2, length=False)
    # the statistics of real embeddings: small variances, one dimension far from zero
    with torch.no_grad():
        net.norm.mean.copy_(torch.from_numpy(x.mean(0) / 7))
        net.norm.variance.copy_(torch.from_numpy((x / 7).var(0)))
        net.norm.mean[133] = -0.6
        net.linear_4.bias -= torch.logit(net(F.normalize(torch.from_numpy(x)))).median()
    assert sum(p.numel() for p in net.parameters()) == 214081
    torch.save(net.state_dict(), tmp_path / "clip_autokeras_binary_nsfw.pth")
    got = score(tmp_path / "place", x, "--head", f"nsfw={tmp_path / 'clip_autokeras_binary_nsfw.pth'}")["nsfw_score"]
    with torch.no_grad():
        plain = net(F.normalize(torch.from_numpy(x)))[:, 0].numpy()
        exact = net.double()(unit(x))[:, 0].numpy()
    ours, theirs = np.abs(got - exact).max(), np.abs(plain - exact).max()
    print(f"\nscores {exact.min():.3f} to {exact.max():.3f}; ours {ours:.2e}, torch's float32 {theirs:.2e}")
    assert exact.std() > 0.05 and ours < 5e-6


def test_h14_safety_net(tmp_path):
    torch.manual_seed(2)
    sizes, steps = [1024, 1024, 2048, 1024, 256, 128], []
    for a, b in zip(sizes, sizes[1:]):
        steps += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(0.2)]
    net = make_heads.randomize(make_heads.Layers(*steps, nn.Linear(128, 16), nn.Linear(16, 1)))
    assert list(net.state_dict())[-2:] == ["layers.16.weight", "layers.16.bias"]
    torch.save(net.state_dict(), tmp_path / "h14_nsfw.pth")
    x = rows(300, 1024, 3)
    got = score(tmp_path / "place", x, "--head", "nsfw", "--model-dir", tmp_path)["nsfw_score"]
    with torch.no_grad():
        exact = net.double()(unit(x))[:, 0].numpy()
    far = np.abs(got - exact).max() / np.abs(exact).max()
    print(f"\nscores {exact.min():.3f} to {exact.max():.3f}; largest difference {far:.2e} of the largest")
    assert far < 5e-6


@pytest.mark.parametrize("prefix", ["", "mlp.", "model.head."])
def test_safetensors_of_the_same_network(tmp_path, prefix):
    path = real_head()
    state = torch.load(path, map_location="cpu", weights_only=True)
    save_file({prefix + k: v.contiguous() for k, v in state.items()}, tmp_path / "model.safetensors")
    x = rows(100, 768, 4)
    got = score(tmp_path / "place", x, "--head", f"a={path}", "--head", f"b={tmp_path / 'model.safetensors'}")
    assert (got["a_score"] == got["b_score"]).all()


def test_prompts_against_open_clip(tmp_path):
    pytest.importorskip("open_clip")
    sys.path.insert(0, str(ROOT / "tools/tiny"))
    import check
    model, prepare, tokens = check.load(str(ROOT / "models/tiny"))
    texts = ["a small red circle", "a large blue square on a white ground", "two green triangles"]
    (tmp_path / "pictures").mkdir()
    rng = np.random.default_rng(6)
    pictures = [Image.fromarray(rng.integers(0, 256, (4, 4, 3), np.uint8)).resize((90, 70), Image.BICUBIC) for _ in range(24)]
    for i, p in enumerate(pictures):
        p.save(tmp_path / f"pictures/{i:03d}.png")
    image, text = check.embed(model, prepare, tokens, pictures, texts)
    place = tmp_path / "place"
    subprocess.run([DARKROOM, "embed", tmp_path / "pictures", place, "--model", "tiny", "-q"], check=True)
    subprocess.run([DARKROOM, "score", place, "-q", "--model", "tiny", "--prompts", "p: " + " | ".join(texts)], check=True)
    got = np.array(pq.read_table(place / "scores/scores_0.parquet")["p_score"])
    x, t = image / np.linalg.norm(image, axis=1, keepdims=True), text / np.linalg.norm(text, axis=1, keepdims=True)
    z = model.logit_scale.exp().item() * x @ t.T
    want = np.exp(z - z.max(1, keepdims=True))
    want = want[:, 0] / want.sum(1)
    print(f"\nprobabilities {want.min():.3g} to {want.max():.3g}; largest difference {np.abs(got - want).max():.2e}")
    assert np.abs(got - want).max() < 5e-3  # embeddings are stored as float16
