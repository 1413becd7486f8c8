"""The filter language beside pandas: the same text through DataFrame.eval gives the same rows. Where
the two differ by design (a null is never unequal to something) the rows hold no null."""
import os, re, sys
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "interop"))
pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
from expr_common import Maker, make_table, judge


def frame_of(table):
    """Numbers as doubles, null as NaN, as darkroom sees them; pandas' own comparisons then apply."""
    d = table.to_pandas()
    for name in d:
        if d[name].dtype.kind == "i" or (d[name].dtype == object and name in ("a", "b", "big")):
            d[name] = d[name].astype("float64")
    return d


def texts_for(seed, count, equal_only):
    m = Maker(seed, functions=False, words=False)
    out = []
    while len(out) < count:
        t = m.condition(m.r.randint(0, 3))
        if ("!=" in t or "not in" in t) and equal_only or "big" in t or "9007" in t or " f" in t or t[0] == "f" or "(f" in t or "-f" in t:
            continue  # whole numbers beyond 2^53 and float32 are compared as stored, see docs/filter.md
        out.append(t)
    return out


def compare(tmp_path, table, texts):
    frame = frame_of(table)
    same = refused = 0
    for text, letters in zip(texts, judge(tmp_path, table, texts)):
        with np.errstate(all="ignore"):
            try:
                want = frame.eval(text, engine="python")
            except (NotImplementedError, TypeError, ValueError, SyntaxError) as e:
                refused += 1  # pandas has no chains of `in`, no literals alone, no text beside NaN
                continue
        if not isinstance(want, pd.Series):
            refused += 1  # constants alone: ~True is -2 to Python
            continue
        if "n" in letters and ("!=" in text or "**" in text) or re.search(r"""['"]\)* (not )?in""", text):
            refused += 1  # NaN out of a power (complex in Python); text written out before `in`
            continue
        got = [c == "T" for c in letters]
        assert got == [bool(w) for w in want], f"{text}\n{letters}\n{list(map(int, want))}"
        same += 1
    return same, refused


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_null(tmp_path, seed):
    same, refused = compare(tmp_path, make_table(seed, 50, nulls=False), texts_for(seed, 250, False))
    print(f"{same} conditions agree with pandas {pd.__version__}, {refused} it does not take")
    assert same > 150


@pytest.mark.parametrize("seed", range(3))
def test_rows_with_nan(tmp_path, seed):
    table = make_table(seed, 50, nulls=True).select(["a", "b", "x", "y"])
    texts = [t for t in texts_for(seed + 50, 600, True) if not any(w in t.replace("not", "") for w in ("s ", "t ", "s)", "t)", "k", "m", "'", '"'))]
    same, refused = compare(tmp_path, table, texts)
    print(f"{same} conditions agree with pandas {pd.__version__}, {refused} it does not take")
    assert same > 60


@pytest.mark.parametrize("text", ["a > 1 & b < 2", "a > 1 | b < 2 & x > 0", "a > 1 and b < 2 | x > 0", "~(a > 1) & b < 2",
                                  "-2 < a < b < 3", "a == [1, 2]", "a != [1, 2]", "a in [1, 2]", "2 ** -a < 1", "-a ** 2 < -3",
                                  "a // 2 == -1", "a % 3 == 1", "a % -3 == -1", "x / 0 > 1", "not a > 1 and b < 2"])
def test_binding(tmp_path, text):
    table = make_table(9, 200, nulls=False)
    frame = frame_of(table)
    (letters,) = judge(tmp_path, table, [text])
    with np.errstate(all="ignore"):
        want = frame.eval(text, engine="python") if "[" not in text else frame.index.isin(frame.query(text, engine="python").index)
    assert [c == "T" for c in letters] == [bool(w) for w in want]
