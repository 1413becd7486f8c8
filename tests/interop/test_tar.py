"""Tars of others read by darkroom, tars of darkroom read by others, and a differential test: on
mutated archives darkroom, GNU tar, bsdtar and Python either agree or darkroom refuses."""
import gzip, hashlib, io, os, random, re, shutil, subprocess, tarfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DARKROOM_BUILD", os.path.join(ROOT, "build"))
TOOL = os.path.join(BUILD, "tests", "interop", "tar_tool")

needs_bsdtar = pytest.mark.skipif(not shutil.which("bsdtar"), reason="no bsdtar")


def tool(*args, **kw):
    run = subprocess.run([TOOL, *map(os.fspath, args)], capture_output=True, check=True, **kw)
    return run.stdout.decode().splitlines()


def unquote(word):
    return re.sub(rb"%(..)", lambda m: bytes([int(m[1], 16)]), word.encode())


def sha(data):
    return hashlib.sha256(data).hexdigest()


def listing(path):
    """([(kind, name, size, sha256)], last line)"""
    *lines, last = tool("list", path)
    rows = []
    for line in lines:
        kind, name, size, *digest = line.split(" ")
        rows.append((kind, unquote(name), int(size), "".join(digest)))
    return rows, last


def files_of(path):
    """{name: bytes hash} of an archive that must be whole."""
    rows, last = listing(path)
    with open(path, "rb") as f:
        data = f.read()
    assert last == f"END {len(data)} {sha(data)}", last
    return {name: digest for kind, name, size, digest in rows if kind == "file"}


NAMES = {
    "plain": "000000012.jpg",
    "prefix": "folder/" * 14 + "x" * 90 + ".jpg",
    "long": "y" * 300 + ".png",
    "very long": "z" * 5000 + ".png",
    "unicode": "日本語/ä ö.jpg",
    "long unicode": "é" * 90 + ".txt",
    "dots": "a.b/c.seg.png",
    "space": " leading and trailing .txt ",
}


def content(rng):
    return {name: rng.randbytes(rng.choice([0, 1, 511, 512, 513, 5000, 200_000])) for name in NAMES.values()}


@pytest.mark.parametrize("format", ["USTAR", "GNU", "PAX"])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_python_tarfile(tmp_path, format, mode):
    path = tmp_path / "a.tar"
    want = {}
    with tarfile.open(path, mode, format=getattr(tarfile, format + "_FORMAT")) as t:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        t.addfile(folder)
        for name, data in content(random.Random(format)).items():
            if format == "USTAR" and len(name.encode()) > 100 and "folder/" not in name:
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.uid = len(data), 1_700_000_000, 1000
            if format != "USTAR":
                info.mtime, info.uid = 2**34, 2**25  # base-256 or pax
            if format == "PAX":
                info.mtime += 0.25
            t.addfile(info, io.BytesIO(data))
            want[name.encode()] = sha(data)
    assert files_of(path) == want


@pytest.mark.parametrize("program", ["tar --format=gnu", "tar --format=ustar", "tar --format=pax", "tar --format=v7",
                                     "tar --format=oldgnu", "bsdtar --format=ustar", "bsdtar --format=pax",
                                     "bsdtar --format=gnutar", "bsdtar --format=v7tar", "tar -z", "bsdtar --zstd"])
def test_command_line_tars(tmp_path, program):
    words = program.split()
    if not shutil.which(words[0]):
        pytest.skip("no " + words[0])
    folder = tmp_path / "in"
    want = {}
    short = "ustar" in program or "v7" in program
    for name, data in content(random.Random(program)).items():
        if len(name.encode()) > (90 if "v7" in program else 100) and short or len(name) > 4000:
            continue
        if any(len(part.encode()) > 255 for part in name.split("/")):
            continue
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        want[b"./" + name.encode()] = sha(data)
    os.symlink("000000012.jpg", folder / "link")
    out = tmp_path / "a.tar"
    env = dict(os.environ, LC_ALL="C.UTF-8")
    subprocess.run([*words, "-c", "-f", out, "-C", folder, "."], check=True, env=env, stderr=subprocess.DEVNULL)
    got = files_of(out)
    assert got == want


@pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd")
def test_size_over_8_gib(tmp_path):
    """A base-256 size. Zstd frames of zeros make such an archive small."""
    def pack(data):
        return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout

    gibibyte = subprocess.run("head -c 1073741824 /dev/zero | zstd -c", shell=True, capture_output=True).stdout
    info, after = tarfile.TarInfo("big.bin"), tarfile.TarInfo("after.txt")
    info.size, after.size = 8 * 2**30 + 5, 3
    tail = bytes(512) + after.tobuf(tarfile.USTAR_FORMAT) + b"abc".ljust(512, b"\0") + bytes(1024)
    path = tmp_path / "big.tar.zst"
    path.write_bytes(pack(info.tobuf(tarfile.GNU_FORMAT)) + 8 * gibibyte + pack(tail))
    lines = tool("list", path)
    assert lines[0] == f"file big.bin {info.size}"
    assert lines[1] == f"file after.txt 3 {sha(b'abc')}"
    assert lines[2].startswith("END ")


def wds_samples(path):
    wds = pytest.importorskip("webdataset")
    out = []
    for s in wds.WebDataset(str(path), shardshuffle=False, empty_check=False):
        members = {k: sha(v)[:12] for k, v in s.items() if k not in ("__key__", "__url__", "__local_path__")}
        out.append((s["__key__"].encode("utf-8", "surrogateescape"), members))
    return out


def our_samples(path, *options):
    good, rest = [], []
    for line in tool("samples", path, *options):
        word, *fields = line.split(" ")
        if word == "sample":
            members = dict(f.split("=") for f in fields[1:])
            good.append((unquote(fields[0]), {unquote(k).decode(): v for k, v in members.items()}))
        else:
            rest.append(line)
    return good, rest


def test_webdataset_writes(tmp_path):
    wds = pytest.importorskip("webdataset")
    rng = random.Random(3)
    with wds.ShardWriter(str(tmp_path / "%06d.tar"), maxcount=40, verbose=0) as w:
        for i in range(100):
            w.write({"__key__": f"{i:06d}", "jpg": rng.randbytes(rng.randrange(9000)), "txt": f"text {i} ä",
                     "json": {"i": i}, "seg.png": rng.randbytes(10), "cls": i})
    shards = sorted(tmp_path.glob("*.tar"))
    assert len(shards) == 3
    for shard in shards:
        good, rest = our_samples(shard)
        assert good == wds_samples(shard)
        assert len(rest) == 1 and rest[0].startswith(f"END {len(good)} 0 0 ")


def test_webdataset_grouping(tmp_path):
    """Random names over an alphabet of dots, slashes and underscores: same samples."""
    pytest.importorskip("webdataset")
    rng = random.Random(11)
    for round in range(60):
        path = tmp_path / "a.tar"
        names = set()
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as t:
            while len(names) < 20:
                name = "".join(rng.choice("ab./__.") for _ in range(rng.randrange(1, 9)))
                if name.endswith("/") or name.startswith("/") or name in names:
                    continue
                names.add(name)
                data = name.encode()
                info = tarfile.TarInfo(name)
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
        good, rest = our_samples(path)
        theirs = wds_samples(path)
        seen = set()
        expect = []
        for key, members in theirs:  # webdataset yields a key again; for us that is non_adjacent
            if key not in seen:
                expect.append((key, members))
            seen.add(key)
        assert good == expect
        assert sum(" non_adjacent " in line for line in rest) == len(theirs) - len(expect)


def write_ours(path, members):
    data = b"".join(name.encode("utf-8", "surrogateescape") + b"\t%d\n" % len(body) + body for name, body in members)
    tool("write", path, input=data)


def test_others_read_ours(tmp_path):
    path = tmp_path / "ours.tar"
    members = list(content(random.Random(5)).items())
    write_ours(path, members)
    first = path.read_bytes()
    write_ours(path, members)
    assert path.read_bytes() == first and len(first) % 10240 == 0
    with tarfile.open(path) as t:
        assert [(m.name, t.extractfile(m).read()) for m in t] == members
        assert all(m.mtime == 0 and m.uid == 0 and m.gid == 0 and m.mode == 0o444 for m in t)
    env = dict(os.environ, LC_ALL="C.UTF-8")
    for program in ("tar", "bsdtar"):
        if shutil.which(program):
            for name, body in members:
                run = subprocess.run([program, "-x", "-O", "-f", path, name], capture_output=True, check=True, env=env)
                assert run.stdout == body
    assert files_of(path) == {n.encode(): sha(b) for n, b in members}


def test_webdataset_reads_ours(tmp_path):
    path = tmp_path / "ours.tar"
    rng = random.Random(6)
    write_ours(path, [(f"{i:05d}.{e}", rng.randbytes(50 * i)) for i in range(30) for e in ("jpg", "json", "txt")])
    good, rest = our_samples(path)
    assert len(good) == 30 and good == wds_samples(path)
    raw = path.read_bytes()
    assert not any(raw[at + 156 : at + 157] == b"x" and raw[at + 257 : at + 262] == b"ustar"
                   for at in range(0, len(raw), 512))


def small(tmp_path):
    path = tmp_path / "small.tar"
    wds = pytest.importorskip("webdataset")
    with wds.TarWriter(str(path)) as w:
        for i in range(2):
            w.write({"__key__": f"{i}", "jpg": b"p" * 700, "txt": "t"})
    return path


def test_every_cut(tmp_path):
    path = small(tmp_path)
    size = path.stat().st_size
    with tarfile.open(path) as t:
        last = t.getmembers()[-1]
        end = last.offset_data + 512 + 1024
    not_refused = [int(line.split()[0]) for line in tool("cuts", path)]
    assert not_refused == list(range(end, size, 512))  # whole: only zeros behind the end mark are gone


def test_every_header_bit(tmp_path):
    assert tool("flips", small(tmp_path)) == [f"tried {8 * 4096}"]


def test_nemo_tar(tmp_path):
    """NeMo never closes its tars: no end mark."""
    path = tmp_path / "nemo.tar"
    t = tarfile.open(path, "w")
    for i in range(3):
        for ext in ("jpg", "json", "txt"):
            info = tarfile.TarInfo(f"{i:09d}.{ext}")
            info.size = 100
            t.addfile(info, io.BytesIO(b"x" * 100))
    t.fileobj.flush()
    assert path.stat().st_size == 9 * 1024
    good, rest = our_samples(path)
    assert len(good) == 3 and " tar_damaged 9216 " in rest[0] and rest[1].startswith("END 3 0 1 ")
    for option in ("unterminated", "expect=3"):
        good, rest = our_samples(path, option)
        assert len(good) == 3 and len(rest) == 1 and rest[0].startswith("END 3 0 0 ")
    t.close()


def python_listing(path):
    try:
        with tarfile.open(path, "r:", ignore_zeros=False) as t:
            return [(m.name.encode("utf-8", "surrogateescape"), m.size) for m in t if m.isreg()]
    except (tarfile.TarError, ValueError, OverflowError, EOFError):
        return None


def program_listing(program, path):
    run = subprocess.run([program, "-t", "-v", "-f", path], capture_output=True,
                         env=dict(os.environ, LC_ALL="C", TZ="UTC"))
    if run.returncode:
        return None
    rows = []
    for line in run.stdout.splitlines():
        if program == "tar":
            m = re.match(rb"[-C]\S+ \S+ +(\d+) \S+ \S+ (.*)$", line)
        else:
            m = re.match(rb"-\S+ +\d+ +\S+ +\S+ +(\d+) +\S+ +\d+ +\S+ (.*)$", line)
        if m:
            rows.append((m[2], int(m[1])))
    return rows


def fix_sums(data, rng):
    """Give every block that looks like a header a right checksum again, so that a mutation of it
    reaches the readers' logic instead of their checksum."""
    out = bytearray(data)
    for at in range(0, len(out) - 511, 512):
        if out[at + 257 : at + 262] == b"ustar":
            block = out[at : at + 512]
            block[148:156] = b" " * 8
            out[at + 148 : at + 156] = b"%06o\0 " % sum(block)
    return bytes(out)


def mutants(rng, count):
    base = []
    for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buf = io.BytesIO()
        with tarfile.open(fileobj=buf, mode="w", format=format) as t:
            for i, name in enumerate(["a.jpg", "n" * 130 + "/b.txt" if format else "b.txt", "c.json"]):
                info = tarfile.TarInfo(name)
                info.size = 600 if i == 1 else 20
                if format == tarfile.PAX_FORMAT:
                    info.pax_headers = {"comment": "x", "size": str(info.size)}
                t.addfile(info, io.BytesIO(b"d" * info.size))
        base.append(buf.getvalue())
    fields = [(0, 100), (124, 136), (124, 136), (156, 157), (156, 157), (257, 265), (345, 500), (512, 560), (100, 124)]
    for _ in range(count):
        data = bytearray(rng.choice(base))
        headers = [at for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"]
        for _ in range(rng.randrange(1, 3)):
            at = rng.choice(headers)
            low, high = rng.choice(fields)
            spot = at + rng.randrange(low, high)
            if spot < len(data):
                data[spot] = rng.choice([0, 32, 48, 49, 51, 55, 65, 46, 47, 0x80, 0xFF, 10, *b"0123567LKxgSV"])
        if rng.random() < 0.2:  # a block moved
            at = rng.choice(headers)
            block = data[at : at + 512]
            data[rng.choice(headers) :][:0] = block
        yield fix_sums(bytes(data), rng)


@needs_bsdtar
def test_disagreement_is_refused(tmp_path):
    """Where darkroom reads an archive to its end, the others list the same files and sizes."""
    rng = random.Random(int(os.environ.get("DARKROOM_SEED", 2024)))
    path = tmp_path / "m.tar"
    accepted = refused = 0
    for data in mutants(rng, int(os.environ.get("DARKROOM_MUTANTS", 250))):
        path.write_bytes(data)
        rows, last = listing(path)
        if not last.startswith("END"):
            refused += 1
            continue
        accepted += 1
        ours = [(name, size) for kind, name, size, _ in rows if kind == "file"]
        assert python_listing(path) == ours
        if any(b in b"\\\n\"" or b < 32 or b > 126 for name, _ in ours for b in name):
            continue  # the programs quote these
        for program in ("tar", "bsdtar"):
            assert program_listing(program, path) == ours, program
    assert accepted > 20 and refused > 100, (accepted, refused)


def test_gzip_of_webdataset(tmp_path):
    path = small(tmp_path)
    packed = tmp_path / "small.tar.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert our_samples(packed)[0] == our_samples(path)[0] == wds_samples(packed)


def test_braces_like_braceexpand():
    braceexpand = pytest.importorskip("braceexpand")
    rng = random.Random(9)
    patterns = ["{00..12..3}", "{b..X}", "{-3..003}"]
    while len(patterns) < 3000:
        pattern = "".join(rng.choice(["{", "}", "{", "}", ",", "a", "1", "0", "..", "-", "b", "\\", "{0..3}", "{a,b}"])
                          for _ in range(rng.randrange(1, 12)))
        if "\\\\" not in pattern:  # inside braces braceexpand strips these twice
            patterns.append(pattern)
    for start in range(0, len(patterns), 500):
        part = patterns[start : start + 500]
        answers = iter(tool("braces", *part))
        for pattern in part:
            got = list(iter(lambda: next(answers), "."))
            try:
                want = list(braceexpand.braceexpand(pattern))
            except (braceexpand.UnbalancedBracesError, ValueError, IndexError):
                want = None
            if got[0].startswith("ERROR"):
                assert "unbalanced" in got[0], pattern
            else:
                assert [unquote(g[1:]).decode() for g in got] == want, pattern
