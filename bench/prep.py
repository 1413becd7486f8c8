"""One JPEG to the 224 x 224 picture a model sees, one core: ours, libjpeg-turbo's decode alone, and
the peers, taking turns. Rates are per CPU second, so other jobs on the machine count less.

usage: bench/prep.py [--rounds 5] [--files 24] [--core 0] [--pillow-simd DIR]
Ours and decode-only come from build/bench/prep_bench, picture by picture in turn. A peer that is not
installed is left out. Pictures are made once into build/prep-corpus (needs scikit-image, scikit-learn)."""
import argparse
import glob
import io
import os
import statistics
import subprocess
import sys
import time

BUILD = os.environ.get("DARKROOM_BUILD", "build")
SETS = ["640x427", "1280x854", "2560x1708", "640x427p"]
ROUNDS = 5      # passes inside one turn; a turn's rate is made of the best time of each picture, for all alike
PEERS = ["pillow", "pillow-simd", "torchvision-v2"]


def peer(name):
    """bytes -> anything: the same picture as ours makes, to normalised floats as the peer does."""
    if name == "torchvision-v2":
        import torch
        from torchvision.io import ImageReadMode, decode_jpeg
        from torchvision.transforms import v2
        torch.set_num_threads(1)
        t = v2.Compose([v2.Resize(224, v2.InterpolationMode.BICUBIC, antialias=True), v2.CenterCrop(224)])
        return lambda b: t(decode_jpeg(torch.frombuffer(bytearray(b), dtype=torch.uint8), ImageReadMode.RGB))
    from PIL import Image
    def run(b):
        im = Image.open(io.BytesIO(b)).convert("RGB")
        w, h = im.size
        W, H = (224, int(224 * h / w)) if w <= h else (int(224 * w / h), 224)
        x, y = round((W - 224) / 2), round((H - 224) / 2)
        return im.resize((W, H), Image.BICUBIC).crop((x, y, x + 224, y + 224)).tobytes()
    return run


def worker(name, paths):
    f, files = peer(name), [open(p, "rb").read() for p in paths]
    best = [1e9] * len(files)
    for r in range(-1, ROUNDS):      # round -1 warms up
        for i, b in enumerate(files):
            t = time.process_time()
            f(b)
            if r >= 0: best[i] = min(best[i], time.process_time() - t)
    print(len(files) / sum(best))


def ours(core, paths):
    out = subprocess.run(["taskset", "-c", core, os.path.join(BUILD, "bench", "prep_bench"), str(ROUNDS), *paths], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: float(line.split()[2]) for line in out.splitlines()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--files", type=int, default=24)
    ap.add_argument("--core", default="0")
    ap.add_argument("--pillow-simd", default=os.environ.get("PILLOW_SIMD_DIR"))
    ap.add_argument("--worker", nargs="+")
    a = ap.parse_args()
    if a.worker: return worker(a.worker[0], a.worker[1:])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    corpus = os.path.join(BUILD, "prep-corpus")
    import prep_corpus
    prep_corpus.make(corpus, a.files)
    for s in SETS:
        paths = sorted(glob.glob(os.path.join(corpus, s, "*.jpg")))[:a.files]
        rates = {}
        for _ in range(a.rounds):
            for name, v in ours(a.core, paths).items(): rates.setdefault(name, []).append(v)
            for name in PEERS:
                env = dict(os.environ, OMP_NUM_THREADS="1")
                if name == "pillow-simd":
                    if not a.pillow_simd: continue
                    env["PYTHONPATH"] = a.pillow_simd
                r = subprocess.run(["taskset", "-c", a.core, sys.executable, __file__, "--worker", name, *paths], capture_output=True, text=True, env=env)
                if r.returncode == 0: rates.setdefault(name, []).append(float(r.stdout.split()[-1]))
        mine = rates["darkroom"]
        print(f"{s}: pictures per CPU second, best (median) of {a.rounds} turns; ours / theirs by median of rounds")
        for name, v in rates.items():
            if name == "ratio": continue
            ratio = statistics.median(m / t for m, t in zip(mine, v))
            print(f"  {name:16} {max(v):8.1f} ({statistics.median(v):.1f})  {ratio:.2f}x", flush=True)


main()
