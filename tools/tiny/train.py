"""Train models/tiny from nothing: draw the world, learn its words, train the CLIP and the heads.

Needs torch, numpy and Pillow. One GPU and 16 cores make the real one in about six minutes:

    python3 tools/tiny/train.py --out models/tiny --cache /tmp/tiny-cache

Pictures and tokenised captions are drawn once by all cores and kept under --cache; training then
never waits for the CPU. Batches are made of families (world.family): scenes one fact apart, so that
the loss asks which colour belongs to which shape, and not only which colours there are.
"""
import argparse
import copy
import io
import json
import math
import multiprocessing
import os
import platform
import random
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import heads
import measure
import towers
import vocab
import world

FAMILY = 4     # scenes a family
WORDINGS = 6   # captions a picture
SIZE = towers.CONFIG["model_cfg"]["vision_cfg"]["image_size"]
CONTEXT = towers.CONFIG["model_cfg"]["text_cfg"]["context_length"]
WORDS = None   # the vocabulary, inherited by the drawing processes


# ---------------------------------------------------------------- the training set

def picture(scene, rng):
    """The scene as the model will see it: drawn at some size, perhaps a JPEG, then prepared."""
    image = Image.fromarray(world.draw(scene, *world.random_size(rng, 80, 144)))
    if world.chance(rng, 0.4):
        file = io.BytesIO()
        image.save(file, "JPEG", quality=60 + int(rng.random() * 36))
        image = Image.open(file)
    return np.asarray(world.see(image, SIZE))


def draw_families(job):
    folder, seed, first, last = job
    pixels, ids, labels = (np.load(os.path.join(folder, f"{n}.npy"), mmap_mode="r+")
                           for n in ("pixels", "ids", "labels"))
    for f in range(first, last):
        rng = random.Random(f"picture {seed}/{f}")
        for j, scene in enumerate(world.family(seed, f, FAMILY)):
            row = f * FAMILY + j
            pixels[row] = picture(scene, rng)
            for k in range(WORDINGS):
                told = world.caption(scene, rng, full=k < WORDINGS - 2)
                ids[row, k] = WORDS.encode(told, CONTEXT)
            labels[row] = world.aesthetic(scene), scene.sign
    return last - first


def training_set(cache, families, seed, workers):
    """pixels u8 [n,S,S,3], ids i16 [n,WORDINGS,CONTEXT], labels f32 [n,2]; kept in the cache."""
    folder = os.path.join(cache, f"world-{seed}-{families}")
    if not os.path.exists(os.path.join(folder, "whole")):
        os.makedirs(folder, exist_ok=True)
        n = families * FAMILY
        for name, kind, shape in (("pixels", "u1", (n, SIZE, SIZE, 3)),
                                  ("ids", "i2", (n, WORDINGS, CONTEXT)), ("labels", "f4", (n, 2))):
            np.lib.format.open_memmap(os.path.join(folder, f"{name}.npy"), "w+", kind, shape)
        step = 250
        jobs = [(folder, seed, i, min(i + step, families)) for i in range(0, families, step)]
        start, done, told = time.time(), 0, 0
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            for count in pool.imap_unordered(draw_families, jobs):
                done += count
                if time.time() - told > 10:
                    told = time.time()
                    print(f"drawn {done * FAMILY} of {n}, "
                          f"{done * FAMILY / (told - start):.0f} a second", flush=True)
        open(os.path.join(folder, "whole"), "w").close()
    return [np.load(os.path.join(folder, f"{n}.npy"), mmap_mode="r")
            for n in ("pixels", "ids", "labels")]


# ---------------------------------------------------------------- training

def augment(pixels, rng):
    """u8 [n,S,S,3] -> f32 [n,3,S,S] in 0..1, a little brighter or darker and noisy."""
    x = pixels.permute(0, 3, 1, 2).float() / 255
    n = len(x)
    gain = 1 + 0.12 * (torch.rand(n, 1, 1, 1, device=x.device, generator=rng) - 0.5)
    noise = 0.03 * torch.rand(n, 1, 1, 1, device=x.device, generator=rng)
    x = x * gain + noise * torch.randn(x.shape, device=x.device, generator=rng)
    return x.clamp(0, 1)


def rate_at(step, steps, peak, warm):
    if step < warm:
        return peak * (step + 1) / warm
    return peak * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm))))


def optimiser(model, peak, cuda):
    flat = [p for p in model.parameters() if p.dim() < 2]
    deep = [p for p in model.parameters() if p.dim() >= 2]
    return torch.optim.AdamW([{"params": deep, "weight_decay": 0.1},
                              {"params": flat, "weight_decay": 0.0}],
                             peak, betas=(0.9, 0.98), eps=1e-8, fused=cuda)


def contrast(image, text, scale):
    logits = scale * image @ text.T
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def batches(rows, size, seed):
    """Row numbers of whole families, shuffled anew each time round, for ever."""
    order = torch.Generator().manual_seed(seed)
    while True:
        families = torch.randperm(rows // FAMILY, generator=order)
        for i in range(0, len(families) - size // FAMILY + 1, size // FAMILY):
            some = families[i:i + size // FAMILY, None] * FAMILY
            yield (some + torch.arange(FAMILY)).flatten()


def follow(mean, model, step):
    """Exponential mean of the weights, short at first."""
    keep = min(0.999, (1 + step) / (10 + step))
    with torch.no_grad():
        torch._foreach_lerp_(list(mean.parameters()), list(model.parameters()), 1 - keep)


def train(model, pixels, ids, args, device):
    """The trained mean of the weights, steps done and the last loss."""
    cuda = device.type == "cuda"
    mean = copy.deepcopy(model).requires_grad_(False)
    opt = optimiser(model, args.rate, cuda)
    rng = torch.Generator(device).manual_seed(args.seed)
    feed = batches(len(pixels), args.batch, args.seed)
    steps, warm = args.steps, min(500, args.steps // 10)
    start, timed, recent = time.time(), None, []
    step = 0
    while step < steps:
        if args.minutes and step == 60:
            sync(device)
            timed = time.time()
        if args.minutes and step == 160:  # while still warming up, so no rate has depended on it
            sync(device)
            per = (time.time() - timed) / 100
            steps = max(warm + 200, min(steps, int(args.minutes * 60 / per)))
            print(f"{per * 1e3:.1f} ms a step, so {steps} steps", flush=True)
        for group in opt.param_groups:
            group["lr"] = rate_at(step, steps, args.rate, warm)
        at = next(feed).to(device)
        wording = torch.randint(WORDINGS, at.shape, device=device, generator=rng)
        with torch.autocast(device.type, torch.bfloat16, enabled=cuda):
            image = model.image(augment(pixels[at], rng))
            text = model.text(ids[at, wording].long())
        loss = contrast(image, text, model.logit_scale.exp())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        follow(mean, model, step)
        recent.append(loss.detach())
        step += 1
        if step % args.say == 0 or step == steps:
            now = float(torch.stack(recent).mean())
            recent.clear()
            scale = math.exp(model.logit_scale.item())
            print(f"step {step} of {steps}, loss {now:.4f}, scale {scale:.1f}, "
                  f"{step / (time.time() - start):.1f} steps a second", flush=True)
            if not math.isfinite(now):
                raise SystemExit("the loss is not finite: lower --rate")
    return mean, steps, now


def sync(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


# ---------------------------------------------------------------- measuring

@torch.no_grad()
def embed_pixels(model, pixels, device):
    out = []
    for i in range(0, len(pixels), 2000):
        x = torch.from_numpy(np.array(pixels[i:i + 2000])).to(device)
        out.append(model.image(x.permute(0, 3, 1, 2).float() / 255))
    return torch.cat(out)


def embed_set(model, words, found, device):
    """Image and text vectors and labels of a set of measure.py."""
    scenes, pictures, captions = found
    pixels = np.stack([np.asarray(world.see(p, SIZE)) for p in pictures])
    ids = torch.tensor([words.encode(c, CONTEXT) for c in captions], device=device)
    label = torch.tensor([[world.aesthetic(s), s.sign] for s in scenes], device=device)
    with torch.no_grad():
        text = model.text(ids)
    return embed_pixels(model, pixels, device), text, label


def finish(model, words, labels, pixels, args, device):
    """Heads and numbers, from the weights as stored (fp16)."""
    model.load_state_dict({k: v.float() for k, v in towers.half(model.state_dict()).items()})
    model.eval()
    image, text, label = embed_set(model, words, measure.unseen_set(1000), device)
    report = measure.retrieval(image.cpu().numpy(), text.cpu().numpy())
    near, far, _ = embed_set(model, words, measure.unseen_families(250), device)
    report["text_to_image_recall_at_1_of_4_siblings"] = \
        measure.recall_at_1(far.cpu().numpy(), near.cpu().numpy(), FAMILY)
    rows = min(len(pixels), 60000)
    report.update(heads.train(args.out, embed_pixels(model, pixels[:rows], device),
                              torch.tensor(np.array(labels[:rows]), device=device), image, label))
    return report


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", required=True, help="folder for the model, its vocabulary and heads")
    p.add_argument("--cache", default="/tmp/tiny-cache", help="where drawn pictures are kept")
    p.add_argument("--families", type=int, default=80000, help="four pictures each")
    p.add_argument("--batch", type=int, default=2048)
    p.add_argument("--steps", type=int, default=9000)
    p.add_argument("--minutes", type=float, default=0,
                   help="fewer steps if all would take longer; report.json has the number")
    p.add_argument("--rate", type=float, default=1.5e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--workers", type=int, default=os.cpu_count())
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--say", type=int, default=200, help="steps between lines")
    return p.parse_args()


def main():
    global WORDS
    args = options()
    os.makedirs(args.out, exist_ok=True)
    begin = time.time()
    WORDS = vocab.learned()
    WORDS.save(os.path.join(args.out, "vocab.txt.gz"))
    pixels, ids, labels = training_set(args.cache, args.families, args.seed, args.workers)
    drawn = time.time()
    print(f"{len(pixels)} pictures after {drawn - begin:.0f} s", flush=True)

    device = torch.device(args.device)
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # costs time, finds nothing here
    cfg = towers.config(WORDS.size)
    model = towers.Clip(cfg).to(device)
    count = sum(p.numel() for p in model.parameters())
    print(f"{count} parameters on {device}, vocabulary {WORDS.size}", flush=True)
    held = torch.from_numpy(np.array(pixels)).to(device)
    told = torch.from_numpy(np.array(ids)).to(device)
    mean, steps, loss = train(model, held, told, args, device)
    towers.save(args.out, mean.state_dict(), cfg)
    report = {"parameters": count, "pictures": len(pixels), "batch": args.batch, "steps": steps,
              "seed": args.seed, "last_loss": round(loss, 4)}
    report.update(finish(mean, WORDS, labels, pixels, args, device))
    report["torch"], report["numpy"] = torch.__version__, np.__version__
    report["python"] = platform.python_version()
    with open(os.path.join(args.out, "report.json"), "w") as f:
        f.write(json.dumps({"train": report}, indent=2) + "\n")
    print(json.dumps(report, indent=2))
    print(f"drawing {drawn - begin:.0f} s, the rest {time.time() - drawn:.0f} s", flush=True)


if __name__ == "__main__":
    main()
