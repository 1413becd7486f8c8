#!/usr/bin/env python3
"""Image towers at full size, fp32, random weights: ours against torch.compile, with and
without autotuning, OpenVINO and ONNX Runtime, interleaved round by round in one run.

    bench/tower.py [--models ViT-B-32,ViT-B-16] [--rounds 3] [--seconds 4]

Prints for each model the best rate of each, the ratio of ours to the best peer, and which part
of the FMA peak (measured in the same run) the whole tower reaches: by the clock, which counts on
an idle machine, and by CPU time, which says something on a busy one (peers that spin while they
wait look worse by it). FLOP are those of the whole tower for everyone; ours computes fewer (the last
block for one token saves 10/12 of its products: 6.9 % of B, 3.5 % of L), so its share of the peak
in work really done is lower by that much. Models and exports are kept in build/bench-models."""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("DARKROOM_BUILD", os.path.join(ROOT, "build"))
STORE = os.path.join(BUILD, "bench-models")
GFLOP = {"ViT-B-32": 8.82, "ViT-B-16": 35.1, "ViT-L-14": 162.0}  # image tower, 1 MAC = 2 FLOP
PEERS = ["torch", "autotune", "openvino", "onnxruntime"]  # autotune: torch.compile, its slowest start
BATCH = {"ViT-B-32": [16, 64], "ViT-B-16": [16], "ViT-L-14": [8]}  # a peer counts with its best


def make(name):
    """The model folder, and the tower as ONNX and OpenVINO files."""
    folder = os.path.join(STORE, name)
    if os.path.exists(os.path.join(folder, "tower.xml")):
        return folder
    import open_clip
    import openvino as ov
    import torch
    from safetensors.torch import save_file
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    model = open_clip.create_model(name, pretrained=None).eval()
    save_file({k: v.contiguous() for k, v in model.state_dict().items()},
              os.path.join(folder, "open_clip_model.safetensors"))
    json.dump({"model_cfg": open_clip.get_model_config(name), "preprocess_cfg": {}},
              open(os.path.join(folder, "open_clip_config.json"), "w"))
    onnx = os.path.join(folder, "tower.onnx")
    torch.onnx.export(model.visual, (torch.randn(2, 3, 224, 224),), onnx, input_names=["x"],
                      output_names=["y"], opset_version=18, dynamo=True, external_data=True,
                      dynamic_shapes=({0: torch.export.Dim("b", min=1, max=1024)},))
    ov.save_model(ov.convert_model(onnx, input=[("x", [-1, 3, 224, 224])]),
                  os.path.join(folder, "tower.xml"), compress_to_fp16=False)
    return folder


def peer_tower(kind, folder, name, threads):
    import numpy as np
    if kind in ("torch", "autotune"):
        import open_clip
        import torch
        import torch._inductor.config as inductor
        inductor.freezing = True  # packs the weights
        inductor.max_autotune = kind == "autotune"  # its own products where they beat the library's
        torch.set_num_threads(threads)
        m = torch.compile(open_clip.create_model(name, pretrained=None).visual.eval(), dynamic=False)

        def run(x):
            with torch.no_grad():
                return m(torch.from_numpy(x)).numpy()
        return run
    if kind == "onnxruntime":
        import onnxruntime as rt
        o = rt.SessionOptions()
        o.intra_op_num_threads = threads
        s = rt.InferenceSession(os.path.join(folder, "tower.onnx"), o, providers=["CPUExecutionProvider"])
        return lambda x: s.run(None, {"x": x})[0]
    import openvino as ov
    core = ov.Core()
    c = core.compile_model(core.read_model(os.path.join(folder, "tower.xml")), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})
    r = c.create_infer_request()
    return lambda x: np.array(r.infer({0: x})[0])


def peer_main(kind, folder, name, threads, seconds):
    """The same protocol as tower_bench: a line in, a rate out."""
    import time
    import numpy as np
    run = peer_tower(kind, folder, name, threads)
    for batch in BATCH[name]:
        run(np.zeros((batch, 3, 224, 224), np.float32))
    print("ready", flush=True)
    for line in sys.stdin:
        batch = int(line.split()[1])
        x = np.random.RandomState(0).randn(batch, 3, 224, 224).astype(np.float32)
        run(x)
        start, cpu, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - start < seconds or not done:
            run(x)
            done += batch
        took, cpu = time.perf_counter() - start, time.process_time() - cpu
        print("%.4f %.4f" % (done / took, threads * done / cpu), flush=True)


class Child:
    def __init__(self, args):
        self.p = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.p.stdout.readline().strip()

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return tuple(map(float, self.p.stdout.readline().split()))

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def bench(name, a):
    folder = make(name)
    ours = Child([os.path.join(BUILD, "bench/tower_bench"), folder, str(a.threads), str(a.seconds)])
    if not ours.first:
        sys.exit("tower_bench failed")
    peers = {k: Child([sys.executable, __file__, "--peer", k, folder, name, str(a.threads), str(a.seconds)])
             for k in a.peers.split(",") if k}
    rates, peak = {k: [] for k in ["ours", *peers]}, 0
    for _ in range(a.rounds):
        for who, child in [("ours", ours), *peers.items()]:
            for batch in BATCH[name][:1 if child is ours else None]:
                rates[who].append(child.ask("image %d" % batch))
        peak = max(peak, ours.ask("peak 1")[0])
    for child in [ours, *peers.values()]:
        child.close()
    print("%-9s %s" % (name, ours.first))
    for i, clock in enumerate(("by the clock", "by CPU time ")):
        best = {k: max(r[i] for r in v) for k, v in rates.items()}
        top = max((v for k, v in best.items() if k != "ours"), default=float("nan"))
        print("%-9s %s: " % (name, clock) + ", ".join("%s %.2f" % kv for kv in best.items())
              + " img/s; ratio to the best peer %.3f; %.1f %% of the FMA peak (%.0f GFLOP/s on %d cores)" % (
                  best["ours"] / top, 100 * best["ours"] * GFLOP[name] / peak, peak, a.threads), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--models", default="ViT-B-32,ViT-B-16,ViT-L-14")
    p.add_argument("--peers", default=",".join(PEERS))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--threads", type=int, default=2)
    if len(sys.argv) > 1 and sys.argv[1] == "--peer":
        return peer_main(*sys.argv[2:5], int(sys.argv[5]), float(sys.argv[6]))
    a = p.parse_args()
    for name in a.models.split(","):
        bench(name, a)


main()
