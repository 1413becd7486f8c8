"""Model files written by torch, safetensors and hostile hands, against torch's own reading."""
import collections
import io
import json
import os
import pickle
import struct
import subprocess
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

BUILD = os.environ.get("DARKROOM_BUILD", "build")
TOOL = os.path.join(BUILD, "tests/interop/weights_tool")
REAL = os.environ.get("DARKROOM_DATA", "../shared/data") + "/sac+logos+ava1-l14-linearMSE.pth"
NAMES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool", torch.uint16: "u16", torch.uint32: "u32",
    torch.uint64: "u64", torch.float8_e4m3fn: "f8_e4m3", torch.float8_e5m2: "f8_e5m2",
}  # fmt: skip


def run(*args):
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True)


def opened(path):
    """format, {name: (dtype, shape, stride, f32 values)}, meta, stubs."""
    done = run("list", path)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    tensors = [r for r in rows if r[0] == "tensor"]
    out = str(path) + ".f32"
    assert run("dump", path, out).returncode == 0
    values = np.fromfile(out, "<f4")
    os.unlink(out)
    result, at = collections.OrderedDict(), 0
    for _, name, dtype, dims, strides in tensors:
        shape = tuple(map(int, dims.split(","))) if dims else ()
        n = int(np.prod(shape)) if shape else 1
        stride = tuple(map(int, strides.split(","))) if strides else ()
        result[name] = (dtype, shape, stride, values[at : at + n].reshape(shape))
        at += n
    assert at == len(values)
    pairs = lambda kind: {r[1]: r[2] for r in rows if r[0] == kind}
    return rows[0][1], result, pairs("meta"), pairs("stub")


def same(got, want, prefix="", strided=True):
    assert list(got) == [prefix + k for k in want]
    for name, tensor in want.items():
        dtype, shape, stride, values = got[prefix + name]
        assert dtype == NAMES[tensor.dtype] and shape == tuple(tensor.shape), name
        if strided:
            assert stride == tuple(tensor.stride()), name
        reference = tensor.detach().to(torch.float32).numpy()
        np.testing.assert_array_equal(values, reference, err_msg=name)


def random_bits(rng, dtype, n):
    size = torch.empty(0, dtype=dtype).element_size()
    raw = rng.integers(0, 2 if dtype == torch.bool else 256, n * size, dtype=np.uint8)
    return torch.from_numpy(raw.copy()).view(dtype)


def random_state(seed, dtypes=tuple(NAMES)):
    """Views of shared storages: transposed, cut, stepped, expanded, reshaped."""
    rng = np.random.default_rng(seed)
    state = collections.OrderedDict()
    for i in range(25):
        dtype = dtypes[int(rng.integers(len(dtypes)))]
        base = random_bits(rng, dtype, 240).reshape(4, 5, 12)
        views = [
            base,
            base.permute(2, 0, 1),
            base[1:3, ::2, 3:9],
            base[:, 0, :1].expand(4, 7),
            base.reshape(-1)[5:5],
            base[3, 4, 11],
            base.reshape(1, 4, 1, 60)[:, 2:],
        ]
        for k in rng.permutation(len(views))[:3]:
            state["layer.%d.view%d" % (i, k)] = views[k]
    return state


@pytest.mark.parametrize("seed", range(6))
def test_random_state_dicts(tmp_path, seed):
    state, path = random_state(seed), tmp_path / "x.pt"
    torch.save(state, path)
    form, got, _, stubs = opened(path)
    assert form == "torch zip" and not stubs
    same(got, state)
    torch.save(dict(state), path, pickle_protocol=4)
    same(opened(path)[1], state)


@pytest.mark.parametrize("seed", range(4))
def test_legacy(tmp_path, seed):
    state, path = random_state(seed), tmp_path / "x.bin"
    torch.save(state, path, _use_new_zipfile_serialization=False)
    form, got, _, stubs = opened(path)
    assert form == "torch legacy" and not stubs
    same(got, state)


def test_parameters_and_whole_modules(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    wrapped = {k: torch.nn.Parameter(v) for k, v in model.state_dict().items() if v.is_floating_point()}
    torch.save(wrapped, tmp_path / "p.pt")
    same(opened(tmp_path / "p.pt")[1], wrapped)
    for new in (True, False):
        torch.save(model, tmp_path / "m.pt", _use_new_zipfile_serialization=new)
        done = run("list", tmp_path / "m.pt")
        assert done.returncode == 4 and "save its state_dict()" in done.stderr


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.ReLU(), torch.nn.Linear(8, width))
        self.register_buffer("scale", torch.randn(()).half())

    def forward(self, x):
        return x + self.mlp(self.norm(x)) * self.scale.float()


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(4) for _ in range(3)])
        self.proj = torch.nn.Parameter(torch.randn(4, 2).half())
        self.input_resolution = 224
        self.tied = self.blocks[0]

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x @ self.proj.float()


@pytest.mark.parametrize("how", ["script", "trace"])
def test_torchscript(tmp_path, how):
    torch.manual_seed(1)
    model = Tower().eval()
    script = torch.jit.script(model) if how == "script" else torch.jit.trace(model, torch.zeros(1, 4))
    script.save(str(tmp_path / "x.pt"))
    form, got, meta, _ = opened(tmp_path / "x.pt")
    assert form == "TorchScript"
    want = model.state_dict()
    assert set(got) == set(want)
    same({k: got[k] for k in want}, want)
    if how == "script":
        assert meta["input_resolution"] == "224"


def test_training_checkpoint(tmp_path):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {"module." + k: v for k, v in model.state_dict().items()}
    data = {"epoch": 3, "name": "run", "state_dict": state, "optimizer": optimizer.state_dict()}
    torch.save(data, tmp_path / "x.pt")
    _, got, meta, stubs = opened(tmp_path / "x.pt")
    assert not stubs and meta["epoch"] == "3" and meta["name"] == "run"
    assert meta["optimizer.param_groups.0.lr"] == "0.001"
    for name, tensor in state.items():
        np.testing.assert_array_equal(got["state_dict." + name][3], tensor.numpy())
    assert got["optimizer.state.0.exp_avg"][1] == (2, 3)


SAFE = [t for t in NAMES if t not in (torch.uint64,)]


@pytest.mark.parametrize("seed", range(4))
def test_safetensors_single_and_sharded(tmp_path, seed):
    state = {k: v.contiguous().clone() for k, v in random_state(seed, SAFE).items()}
    path = tmp_path / "x.weights"  # content decides, not the name
    safetensors.save_file(state, path, metadata={"format": "pt", "caf\u00e9": "\u2603"})
    form, got, meta, _ = opened(path)
    assert form == "safetensors" and meta == {"format": "pt", "caf\u00e9": "\u2603"}
    same({k: got[k] for k in state}, state, strided=False)
    names = list(state)
    index = {"metadata": {"total_size": 0}, "weight_map": {}}
    for i in range(3):
        shard = "model-%05d-of-00003.safetensors" % (i + 1)
        safetensors.save_file({k: state[k] for k in names[i::3]}, tmp_path / shard)
        index["weight_map"].update({k: shard for k in names[i::3]})
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps(index, indent=2))
    got = opened(path)[1]
    same({k: got[k] for k in state}, state, strided=False)
    index["weight_map"]["ghost"] = "model-00001-of-00003.safetensors"
    path.write_text(json.dumps(index))
    done = run("list", path)
    assert done.returncode == 4 and "has no tensor ghost" in done.stderr


def test_sharded_torch(tmp_path):
    state = {k: v for k, v in random_state(9).items()}
    names = list(state)
    weight_map = {}
    for i in range(2):
        shard = "pytorch_model-%05d-of-00002.bin" % (i + 1)
        torch.save({k: state[k] for k in names[i::2]}, tmp_path / shard)
        weight_map.update({k: shard for k in names[i::2]})
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    got = opened(tmp_path / "pytorch_model.bin.index.json")[1]
    same({k: got[k] for k in state}, state)


def header(text, data=b""):
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text)) + text + data


ENTRY = '{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
REFUSED_BY_BOTH = [
    b"",
    b"\0" * 7,
    struct.pack("<Q", 100_000_001) + b"{",
    struct.pack("<Q", 1000) + b"{}",
    header('{"a":%s' % ENTRY, bytes(8)),
    header('{"a":%s}' % ENTRY, bytes(9)),
    header('{"a":%s}' % ENTRY, bytes(7)),
    header('{"a":%s,"b":%s}' % (ENTRY, ENTRY), bytes(8)),
    header('{"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
    header('{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}', bytes(8)),
    header('{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}', bytes(4)),
    header('{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}', bytes(12)),
    header('{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}}', bytes(8)),
    header(b'{"\xff":%s}' % ENTRY.encode(), bytes(8)),
]
# Rules of ours that the reference does not enforce.
REFUSED_BY_US = [
    header(' {"a":%s}' % ENTRY, bytes(8)),
    header('{"a":%s,"a":%s}' % (ENTRY, ENTRY), bytes(8)),
    header('{"%s":%s}' % ("n" * 1025, ENTRY), bytes(8)),
]


@pytest.mark.parametrize("i", range(len(REFUSED_BY_BOTH) + len(REFUSED_BY_US)))
def test_bad_safetensors(tmp_path, i):
    data = (REFUSED_BY_BOTH + REFUSED_BY_US)[i]
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    done = run("list", path)
    assert done.returncode == 4 and str(path) in done.stderr
    if i < len(REFUSED_BY_BOTH):
        with pytest.raises(Exception):
            safetensors.load(data)


# ---- hostile pickles ----


class Call:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def archive(pkl, storages=None, root="archive", extra=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(root + "/data.pkl", pkl)
        z.writestr(root + "/version", b"3\n")
        for key, data in (storages or {}).items():
            z.writestr(root + "/data/" + key, data)
        for name, data in extra:
            z.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_runs(tmp_path, protocol):
    canary = tmp_path / "canary"
    touch = "touch %s" % canary
    attacks = [
        Call(os.system, touch),
        Call(eval, "__import__('os').system(%r)" % touch),
        Call(exec, "open(%r, 'w')" % str(canary)),
        Call(open, str(canary), "w"),
        Call(subprocess.check_output, ["sh", "-c", touch]),
    ]
    for i, attack in enumerate(attacks):
        for value in (attack, {"a": attack}, {"state_dict": [attack, (attack,)]}, {attack: 1}):
            try:
                pkl = pickle.dumps(value, protocol=protocol)
            except TypeError:
                continue
            path = tmp_path / ("x%d" % i)
            for data in (archive(pkl), pkl, legacy(pkl)):
                path.write_bytes(data)
                done = run("list", path)
                assert done.returncode == 4, done.stdout
                assert not canary.exists()


def legacy(pkl):
    magic = 0x1950A86A20F9469CFC6C
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    return b"".join(pickle.dumps(v, 2) for v in (magic, 1001, system)) + pkl + pickle.dumps([], 2)


def tensor_pickle(**change):
    """A hand-made state dict {"w": tensor} with one lie in it."""
    value = dict(kind="storage", storage="FloatStorage", key="0", count=4, offset=0, size=(2, 2), stride=(2, 1))
    value.update(change)
    name = lambda module, n: b"c%s\n%s\n" % (module, n.encode())
    dump = lambda v: pickle.dumps(v, 2)[2:-1]
    ident = dump(value["kind"]) + name(b"torch", value["storage"]) + dump(value["key"]) + dump("cpu")
    storage = b"(" + ident + dump(value["count"]) + b"tQ"
    args = b"(" + storage + dump(value["offset"]) + dump(value["size"]) + dump(value["stride"]) + b"\x89Nt"
    return b"\x80\x02}" + dump("w") + name(b"torch._utils", "_rebuild_tensor_v2") + args + b"Rs."


def test_lying_tensors(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(archive(tensor_pickle(), {"0": bytes(16)}))
    assert opened(path)[1]["w"][1] == (2, 2)
    lies = [
        dict(size=(2, 3)), dict(offset=1), dict(offset=-1), dict(offset=2**62), dict(stride=(2**62, 1)),
        dict(stride=(-2, 1)), dict(stride=(2,)), dict(size=(2**32, 2**32), stride=(0, 0)), dict(size="ab"),
        dict(size=(2.0, 2)), dict(key="1"), dict(key="../version"), dict(key=None), dict(count=5),
        dict(count=2**62), dict(count=-1), dict(storage="EvilStorage"), dict(kind="module"), dict(size=(-2, -2)),
    ]  # fmt: skip
    for lie in lies:
        path.write_bytes(archive(tensor_pickle(**lie), {"0": bytes(16)}))
        done = run("list", path)
        assert done.returncode == 4 and str(path) in done.stderr, (lie, done.stdout)


def test_big_endian_and_compressed_archives_are_refused(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(archive(tensor_pickle(), {"0": bytes(16)}, extra=[("archive/byteorder", b"big")]))
    assert "big-endian" in run("list", path).stderr
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", tensor_pickle())
        z.writestr("archive/data/0", bytes(16))
    assert run("list", path).returncode == 4


def test_deep_and_wide_pickles_end(tmp_path):
    path = tmp_path / "x.pt"
    deep = b"\x80\x02" + b"]" * 300 + b"a" * 299 + b"."
    loop = b"\x80\x02]q\x00h\x00a."
    bomb = b"\x80\x02]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60))
    bomb += b"0" * 60 + b"h\x3c" + b"\x85" + b"."
    for pkl in (deep, loop, bomb):
        path.write_bytes(archive(pkl))
        assert run("list", path).returncode == 4


def test_the_real_aesthetic_head():
    if not os.path.exists(REAL):
        pytest.skip("no " + REAL)
    want = torch.load(REAL, map_location="cpu", weights_only=True)
    form, got, _, stubs = opened_copy(REAL)
    assert form == "torch zip" and not stubs
    same(got, want)


def opened_copy(path):
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, folder + "/x.pth")
        return opened(folder + "/x.pth")


def test_subclasses_and_what_is_no_plain_tensor(tmp_path):
    tagged = torch.arange(3.0)
    tagged.note = "an attribute makes torch call _rebuild_from_type_v2"
    value = {
        "tagged": tagged,
        "complex": torch.zeros(2, dtype=torch.complex64),
        "sparse": torch.eye(3).to_sparse(),
        "meta": torch.zeros(2, device="meta"),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
        "deep": torch.zeros((1,) * 9),
        "dtype": torch.float16,
        "size": torch.Size([2, 3]),
        "device": torch.device("cpu"),
        "numpy": np.ones(2),
    }
    torch.save(value, tmp_path / "x.pt")
    done = run("list", tmp_path / "x.pt")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [r[1:3] for r in rows if r[0] == "tensor"] == [["tagged", "f32"], ["complex", "c64"]]
    assert {r[1] for r in rows if r[0] == "stub"} == {"sparse", "meta", "quantized", "deep", "numpy"}
    assert "complex: c64 cannot be read" in run("dump", tmp_path / "x.pt", tmp_path / "o").stderr


def test_legacy_views_of_storages(tmp_path):
    """Before 0.4 a storage could be a window of another: ("storage", ..., (key, offset, count))."""
    dump = lambda v: pickle.dumps(v, 2)[2:-1]
    path = tmp_path / "x.pt"

    def write(view, count=2, size=(2,)):
        ident = dump("storage") + b"ctorch\nFloatStorage\n" + dump("7") + dump("cpu") + dump(count) + dump(view)
        args = b"((" + ident + b"tQK\x00" + dump(size) + dump((1,)) + b"t"
        pkl = b"\x80\x02}" + dump("w") + b"ctorch._utils\n_rebuild_tensor\n" + args + b"Rs."
        head = legacy(b"")[: -len(pickle.dumps([], 2))]
        data = np.arange(5, dtype="<f4").tobytes()
        path.write_bytes(head + pkl + pickle.dumps(["7"], 2) + struct.pack("<q", 5) + data)

    write(("view", 3, 2))
    np.testing.assert_array_equal(opened(path)[1]["w"][3], [3, 4])
    write(None)
    np.testing.assert_array_equal(opened(path)[1]["w"][3], [0, 1])
    for view in (("view", 4, 2), ("view", -1, 2), ("view", 2**62, 2), ("view", 0, 1), ("view",), 5):
        write(view)
        assert run("list", path).returncode == 4, view
