"""numpy reads what we write, byte for byte what it would write itself; we read what numpy writes."""
import io
import os
import subprocess

import numpy as np
import pytest

BUILD = os.environ.get("DARKROOM_BUILD", "build")
TOOL = os.path.join(BUILD, "tests/interop/npy_tool")
WEIGHTS = os.path.join(BUILD, "tests/interop/weights_tool")
DTYPES = ["<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "|b1", "<c8"]


def tool(*args, data=b""):
    return subprocess.run([TOOL, *map(str, args)], input=data, capture_output=True)


def random_array(rng, shape, dtype):
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = rng.integers(0, 2 if dtype == "|b1" else 256, n, dtype=np.uint8).tobytes()
    return np.frombuffer(raw, dtype).reshape(shape)


def saved(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_np_saves_bytes(tmp_path, dtype):
    rng = np.random.default_rng(1)
    for shape in [(0, 4), (1, 1), (7, 3), (1000, 16), (3, 512), (11,), (0,)]:
        array = random_array(rng, shape, dtype)
        cols = shape[1] if len(shape) == 2 else -1
        done = tool("write", tmp_path, "x.npy", dtype, cols, data=array.tobytes())
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "x.npy").read_bytes() == saved(array)
        back = np.load(tmp_path / "x.npy")
        assert back.dtype == array.dtype and back.shape == array.shape


def test_headers_of_random_shapes():
    rng = np.random.default_rng(2)
    shapes = [(), (0,), (10**18,), (1, 10**17), tuple([7] * 20)]
    for _ in range(150):
        rank = int(rng.integers(0, 9))
        shapes.append(tuple(int(10 ** rng.uniform(0, 5)) - 1 for _ in range(rank)))
    # Shapes around the place where the header grows by another 64 bytes.
    shapes += [(1,) + (10**k,) * 2 + (1,) * j for k in range(1, 9) for j in range(6)]
    for i, shape in enumerate(shapes):
        dtype = DTYPES[i % len(DTYPES)]
        want = io.BytesIO()
        header = {"descr": dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(want, header)
        assert tool("header", dtype, *shape).stdout == want.getvalue(), (dtype, shape)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_we_read_numpy(tmp_path, version):
    rng = np.random.default_rng(3)
    path = tmp_path / "x.npy"
    for i in range(40):
        dtype = DTYPES[i % len(DTYPES)]
        shape = tuple(int(n) for n in rng.integers(0, 6, int(rng.integers(0, 7))))
        array = random_array(rng, shape, dtype)
        with open(path, "wb") as f:
            np.lib.format.write_array(f, array, version=version)
        done = tool("read", path)
        assert done.returncode == 0, done.stderr
        head, raw = done.stdout.split(b"\n", 1)
        assert head.decode().split() == [dtype, *map(str, shape)]
        assert raw == array.tobytes()


def test_refused(tmp_path):
    path = tmp_path / "x.npy"
    cases = [
        (np.asfortranarray(np.zeros((3, 4))), "Fortran order"),
        (np.zeros(3, ">f4"), "big-endian"),
        (np.array([{}, 1], dtype=object), "objects"),
        (np.zeros(3, "U5"), "cannot read"),
        (np.zeros(3, [("a", "<f4")]), "records"),
        (np.zeros(3, "<f16"), "cannot read"),
        (np.zeros((1,) * 9), "dimensions"),
    ]
    for array, why in cases:
        np.save(path, array, allow_pickle=True)
        done = tool("read", path)
        assert done.returncode == 4 and why in done.stderr.decode(), (why, done.stderr)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    rng = np.random.default_rng(4)
    arrays = {"w%d" % i: random_array(rng, (i, 3), DTYPES[i % 12]) for i in range(30)}
    arrays["big"] = np.zeros((300, 1000), "<f4")
    arrays["a/b.c"] = np.arange(4)
    save(tmp_path / "x.npz", **arrays)
    done = subprocess.run([WEIGHTS, "dump", tmp_path / "x.npz", tmp_path / "out"], capture_output=True)
    assert done.returncode == 0, done.stderr
    got = np.fromfile(tmp_path / "out", "<f4")
    with np.errstate(all="ignore"):
        want = np.concatenate([v.astype("<f4").ravel() for v in arrays.values()])
    assert len(got) == len(want) and np.array_equal(got, want, equal_nan=True)


def test_npz_damage_is_seen(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.arange(1000))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / "y.npz").write_bytes(data)
    done = subprocess.run([WEIGHTS, "list", tmp_path / "y.npz"], capture_output=True, text=True)
    assert done.returncode == 4 and "y.npz" in done.stderr
