"""Tar to embeddings, whole: darkroom embed beside clip-retrieval, ViT-B/32 with random weights, all cores.

usage: embed.py [--rounds 3] [--images 1000] [--skip-peer] [--memory]
Prints, ours and the peer interleaved in one run:
  whole-process   samples/s of the whole command over the images (imports, model load, writing included)
  steady          the same with the time of the command over 8 images taken off, for both
  first           seconds of the command over one image: start, weights, one embedding, files
  tower           our own tower alone (build/bench/tower_bench), and steady as a share of it
  memory          with --memory: peak resident size beyond the weights of B/32, and with models/tiny after
                  1,000 and after 100,000 samples
The peer needs its own environment, whose pins conflict with the others': build/retrieval, made on first use.
"""
import argparse
import glob
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
BUILD = os.environ.get("DARKROOM_BUILD", "build")
DARKROOM = os.path.join(BUILD, "darkroom")
DATA = "build/bench-data"
PEER = "build/retrieval"


def shards(images):
    """images 640x427 pictures in two tars, and tars of 4 x 2 and of 1 for start-up times."""
    import prep_corpus
    d = os.path.join(DATA, f"embed-{images}")
    if os.path.exists(os.path.join(d, "whole")):
        return d
    os.makedirs(d, exist_ok=True)
    photos = prep_corpus.photographs()
    pictures = []
    for i in range(images):
        out = io.BytesIO()
        prep_corpus.picture(photos, 5_000_000 + i, 640, 427).save(out, "JPEG", quality=85, subsampling="4:2:0")
        pictures.append(out.getvalue())

    def write(name, numbers):
        with tarfile.open(os.path.join(d, name), "w", format=tarfile.USTAR_FORMAT) as t:
            for i in numbers:
                meta = json.dumps({"key": f"{i:09d}", "width": 640, "height": 427})
                for ext, data in (("jpg", pictures[i]), ("txt", b"a photo of something"), ("json", meta.encode())):
                    info = tarfile.TarInfo(f"{i:09d}.{ext}")
                    info.size = len(data)
                    t.addfile(info, io.BytesIO(data))

    half = images // 2
    write("00000.tar", range(half))
    write("00001.tar", range(half, images))
    for k in range(4):
        write(f"few{k}.tar", range(2 * k, 2 * k + 2))
    write("one.tar", range(1))
    open(os.path.join(d, "whole"), "w").close()
    return d


def model():
    """The same random weights as safetensors for us and as a checkpoint for the peer."""
    d = os.path.join(DATA, "ViT-B-32")
    if not os.path.exists(os.path.join(d, "open_clip_config.json")):
        import open_clip
        import safetensors.torch
        import torch
        torch.manual_seed(0)
        os.makedirs(d, exist_ok=True)
        m = open_clip.create_model("ViT-B-32", pretrained=None)
        state = {k: v.contiguous() for k, v in m.state_dict().items() if k != "attn_mask"}
        safetensors.torch.save_file(state, os.path.join(d, "open_clip_model.safetensors"))
        torch.save(m.state_dict(), os.path.join(d, "random.pt"))
        cfg = {"model_cfg": open_clip.get_model_config("ViT-B-32"), "preprocess_cfg": {}}
        with open(os.path.join(d, "open_clip_config.json"), "w") as f:
            json.dump(cfg, f)
    return os.path.abspath(d)


def rows(place):
    return sum(len(np.load(f)) for f in glob.glob(place + "/img_emb/*.npy"))


def ours(pattern, n, weights):
    place = tempfile.mkdtemp()
    t = time.perf_counter()
    r = subprocess.run([DARKROOM, "embed", pattern, place, "--model", weights, "--enable-text", "false", "--metadata",
                        "--output-partition-count", "1", "-q"], capture_output=True, text=True)
    dt = time.perf_counter() - t
    if r.returncode or rows(place) != n:
        raise SystemExit(f"darkroom failed: {r.stderr}")
    shutil.rmtree(place)
    return dt


def peer_python():
    python = os.path.abspath(os.path.join(PEER, "bin/python"))
    if not os.path.exists(os.path.join(PEER, "whole")):
        print("# making the environment of clip-retrieval", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEER], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "uv"], check=True)
        subprocess.run([os.path.join(PEER, "bin/uv"), "pip", "install", "-q", "--python", python,
                        "clip-retrieval==2.45.0", "setuptools<81"], check=True)
        open(os.path.join(PEER, "whole"), "w").close()
    return python


def peer(python, pattern, n, weights):
    place = tempfile.mkdtemp()
    code = (f"from clip_retrieval.clip_inference.main import main; main({pattern!r}, {place!r}, input_format='webdataset', "
            f"batch_size=64, num_prepro_workers=2, enable_text=False, enable_metadata=True, "
            f"clip_model='open_clip:ViT-B-32/{weights}/random.pt', wds_number_file_per_input_file=500, write_batch_size=1000000)")
    t = time.perf_counter()
    r = subprocess.run([python, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=1200)
    dt = time.perf_counter() - t
    if rows(place) != n:
        raise SystemExit(f"clip-retrieval failed: {r.stderr[-500:]}")
    shutil.rmtree(place)
    return dt


def tower(weights):
    """img/s of the image tower alone, all cores, from the same weights."""
    tool = os.path.join(BUILD, "bench", "tower_bench")
    if not os.path.exists(tool):
        return None
    r = subprocess.run([tool, weights, str(os.cpu_count()), "4"], input="image 16\n", capture_output=True, text=True)
    return float(r.stdout.split()[-2]) if r.returncode == 0 else None  # by the clock, by CPU time


def resident(pattern, copies, weights, n):
    """Peak resident size of embedding the same shards `copies` times, in MiB."""
    place = tempfile.mkdtemp()
    words = [os.path.join(place, f"{i:04d}.tar") for i in range(copies)]
    src = sorted(glob.glob(pattern))
    for i, w in enumerate(words):
        os.symlink(os.path.abspath(src[i % len(src)]), w)
    r = subprocess.run(["/usr/bin/time", "-f", "%M", DARKROOM, "embed", *words, place + "/p", "--model", weights, "--metadata",
                        "--output-partition-count", "1", "-q"], capture_output=True, text=True)
    got = rows(place + "/p")
    shutil.rmtree(place)
    if r.returncode or got != n:
        raise SystemExit(f"darkroom failed: {got} rows of {n}: {r.stderr}")
    return int(r.stderr.strip().splitlines()[-1]) / 1024


def best(values):
    return f"best {min(values):.2f} s median {statistics.median(values):.2f} s"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--images", type=int, default=1000)
    ap.add_argument("--skip-peer", action="store_true")
    ap.add_argument("--memory", action="store_true")
    a = ap.parse_args()
    d, weights, n = shards(a.images), model(), a.images
    many, few, one = d + "/{00000..00001}.tar", d + "/few{0..3}.tar", d + "/one.tar"
    python = None if a.skip_peer else peer_python()
    t = {k: [] for k in ("ours", "ours few", "ours one", "peer", "peer few")}
    towers = []
    ours(one, 1, weights)  # weights and libraries into the page cache, for both
    if python:
        peer(python, os.path.abspath(few), 8, weights)
    for _ in range(a.rounds):
        t["ours one"].append(ours(one, 1, weights))
        t["ours few"].append(ours(few, 8, weights))
        t["ours"].append(ours(many, n, weights))
        towers.append(tower(weights))
        if python:
            t["peer few"].append(peer(python, os.path.abspath(few), 8, weights))
            t["peer"].append(peer(python, os.path.abspath(many), n, weights))
    for k, v in t.items():
        if v:
            print(f"# {k}: {best(v)}")
    whole, steady = n / min(t["ours"]), (n - 8) / (min(t["ours"]) - min(t["ours few"]))
    print(f"darkroom whole-process {whole:.1f} samples/s, steady {steady:.1f}, first embedding's files after {min(t['ours one']):.2f} s")
    if all(towers):
        print(f"darkroom tower alone {max(towers):.1f} img/s; steady is {100 * steady / max(towers):.1f} % of it (goal 95)")
    if python:
        pw, ps = n / min(t["peer"]), (n - 8) / (min(t["peer"]) - min(t["peer few"]))
        print(f"clip-retrieval whole-process {pw:.1f} samples/s, steady {ps:.1f}")
        print(f"ratio whole-process {whole / pw:.2f} (goal 3), steady {steady / ps:.2f} (goal 1.4)")
    if a.memory:
        pattern = d + "/0000?.tar"
        size = os.path.getsize(weights + "/open_clip_model.safetensors") / 2**20
        print(f"memory: ViT-B/32 {resident(pattern, 2, weights, n) - size:.0f} MiB beyond the weights' {size:.0f} (goal 512)", flush=True)
        for copies in (2, 200):
            print(f"memory: tiny {resident(pattern, copies, 'models/tiny', copies * n // 2):.0f} MiB after {copies * n // 2} samples", flush=True)


main()
