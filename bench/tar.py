"""Tar members to memory, one core: darkroom against webdataset and Python's tarfile.

A tar of 10,000 samples (28 KB picture, caption, JSON) is made once, as webdataset writes it (with
its pax headers) and as plain ustar; then the readers take turns. The best of all rounds counts,
in CPU seconds, so that a busy machine does not decide. Goals: 10x webdataset, 4x tarfile.

    python bench/tar.py [rounds]
"""
import io, json, os, random, subprocess, sys, tarfile, tempfile, time

SAMPLES = 10_000
TOOL = os.path.join(os.environ.get("DARKROOM_BUILD", "build"), "bench", "tar_bench")


def samples():
    rng = random.Random(7)
    blob = rng.randbytes(1 << 20)
    for i in range(SAMPLES):
        n = int(rng.uniform(16_000, 40_000))
        at = rng.randrange(len(blob) - n)
        meta = {"url": f"http://example.org/{i}.jpg", "width": 640, "height": 427, "status": "success"}
        yield f"{i:09d}", blob[at : at + n], f"a photo of thing number {i}", json.dumps(meta)


def make(folder):
    import webdataset

    pax, plain = os.path.join(folder, "pax.tar"), os.path.join(folder, "ustar.tar")
    with webdataset.TarWriter(pax) as w:
        for key, jpg, txt, meta in samples():
            w.write({"__key__": key, "jpg": jpg, "txt": txt, "json": meta.encode()})
    with tarfile.open(plain, "w", format=tarfile.USTAR_FORMAT) as t:
        for key, jpg, txt, meta in samples():
            for ext, data in (("jpg", jpg), ("json", meta.encode()), ("txt", txt.encode())):
                info = tarfile.TarInfo(f"{key}.{ext}")
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
    return {"webdataset's tar": pax, "plain ustar": plain}


def timed(read):
    def run(path):
        start = time.process_time()
        count = read(path)
        assert count == SAMPLES, count
        return time.process_time() - start

    return run


@timed
def with_webdataset(path):
    import webdataset

    data = webdataset.WebDataset(path, shardshuffle=False, empty_check=False)
    return sum(1 for s in data if s["jpg"] and s["txt"] and s["json"])


@timed
def with_tarfile(path):
    count = 0
    with tarfile.open(path, "r|") as t:
        for member in t:
            count += len(t.extractfile(member).read()) > 0
            t.members = []
    return count // 3


def with_darkroom(how):
    def run(path):
        out = subprocess.run([TOOL, path, how], check=True, capture_output=True, text=True).stdout
        return float(out.split()[0])

    return run


READERS = {
    "webdataset": with_webdataset,
    "tarfile": with_tarfile,
    "darkroom members": with_darkroom("members"),
    "darkroom samples": with_darkroom("samples"),
    "darkroom samples + sha256": with_darkroom("hashed"),
}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        for title, path in make(folder).items():
            best = dict.fromkeys(READERS, float("inf"))
            for _ in range(rounds):
                for name, read in READERS.items():
                    best[name] = min(best[name], read(path))
            print(f"{title} ({os.path.getsize(path) >> 20} MiB, {SAMPLES} samples), best of {rounds}")
            for name, s in best.items():
                print(
                    f"  {name:26} {SAMPLES / s:10.0f} samples/s   {os.path.getsize(path) / s / 1e9:5.2f} GB/s"
                    f"   {best['webdataset'] / s:6.1f}x webdataset   {best['tarfile'] / s:5.1f}x tarfile"
                )


if __name__ == "__main__":
    main()
