"""Random conditions and rows for the filter language; shared by tests/interop and tests/peers."""
import math, random, subprocess
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import BUILD

WORDS = ["dog", "Dog", "a red dog", "", "cat", "zebra", "h\u00e9llo", "\u6f22\u5b57", "do", "ZEBRA!", "12 dogs"]


def make_table(seed, rows, nulls=True):
    """Columns of every type; numbers from small sets, so that equality and order both occur."""
    r = random.Random(seed)
    hole = lambda v, p=0.12: None if nulls and r.random() < p else v
    reals = [0.0, -0.0, 0.2, 0.5, 1.0, 2.0, -1.5, 3.25, 1e9, -2.0] + ([math.inf, -math.inf, math.nan] if nulls else [])
    cols = {
        "a": pa.array([hole(r.randint(-4, 4)) for _ in range(rows)], pa.int64()),
        "b": pa.array([hole(r.randint(-4, 4)) for _ in range(rows)], pa.int32()),
        "big": pa.array([hole(2**53 + r.randint(-2, 2)) for _ in range(rows)], pa.int64()),
        "x": pa.array([hole(r.choice(reals)) for _ in range(rows)], pa.float64()),
        "y": pa.array([hole(r.choice(reals)) for _ in range(rows)], pa.float64()),
        "f": pa.array([hole(r.choice([0.1, 0.2, 0.3, 0.5, 2.0])) for _ in range(rows)], pa.float32()),
        "s": pa.array([hole(r.choice(WORDS)) for _ in range(rows)], pa.string()),
        "t": pa.array([hole(r.choice(WORDS)) for _ in range(rows)], pa.string()),
        "k": pa.array([hole(r.random() < 0.5) for _ in range(rows)], pa.bool_()),
        "m": pa.array([hole(r.random() < 0.5) for _ in range(rows)], pa.bool_()),
    }
    return pa.table(cols)


def judge(tmp_path, table, texts):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    out = subprocess.run([f"{BUILD}/tests/interop/expr_tool", path], input="".join(t + "\0" for t in texts).encode(),
                         capture_output=True, check=True)
    return out.stdout.decode().split("\n")[:-1]


class Maker:
    """Random well-typed conditions. Levels are Python's: or 0, and 1, not 2, comparison 3, + 4, * 5,
    sign 6, ** 7, atom 8. `functions`: those of darkroom beside what pandas knows."""

    def __init__(self, seed, functions=True, words=True):
        self.r, self.functions, self.words = random.Random(seed), functions, words

    def wrap(self, text, level, at_least):
        return f"({text})" if level < at_least or self.r.random() < 0.08 else text

    def number(self, depth, at_least=4):
        r = self.r
        k = r.random()
        if depth <= 0 or k < 0.4:
            if r.random() < 0.65:
                return r.choice(["a", "b", "x", "y", "f", "big"])
            text = r.choice(["0", "1", "2", "3", "0.2", "0.5", "2.5", "1e3", ".25", "9007199254740993", "4."])
            return self.wrap("-" + text, 6, at_least) if r.random() < 0.2 else text
        if k < 0.58:
            op = r.choice("+-")
            return self.wrap(f"{self.number(depth - 1, 4)} {op} {self.number(depth - 1, 5)}", 4, at_least)
        if k < 0.78:
            op = r.choice(["*", "/", "//", "%"])
            return self.wrap(f"{self.number(depth - 1, 5)} {op} {self.number(depth - 1, 6)}", 5, at_least)
        if k < 0.85:
            return self.wrap(f"-{self.number(depth - 1, 6)}", 6, at_least)
        if k < 0.9:
            return self.wrap(f"{self.number(0, 8)} ** {self.number(0, 7)}", 7, at_least)
        if not self.functions:
            return r.choice(["a", "x"])
        f = r.choice(["min", "max", "abs", "coalesce", "len"])
        if f == "len":
            return f"len({self.string(depth - 1)})"
        n = 1 if f == "abs" else r.randint(1, 3)
        return f"{f}({', '.join(self.number(depth - 1, 4) for _ in range(n))})"

    def string(self, depth):
        r = self.r
        if self.functions and depth > 0 and r.random() < 0.25:
            f = r.choice(["lower", "upper", "coalesce"])
            return f"{f}({self.string(depth - 1)})" if f != "coalesce" else f"coalesce({self.string(depth - 1)}, {self.string(0)})"
        return r.choice(["s", "t"]) if r.random() < 0.7 else self.literal()

    def literal(self):
        return self.r.choice([repr, lambda w: f'"{w}"'])(self.r.choice(WORDS))

    def relation(self):
        return self.r.choice(["==", "!=", "<", "<=", ">", ">="])

    def comparison(self, depth):
        r = self.r
        k = r.random()
        if k < 0.5:
            links = 1 if r.random() < 0.75 else r.randint(2, 3)
            return f"{self.number(depth - 1)}" + "".join(f" {self.relation()} {self.number(depth - 1)}" for _ in range(links)), 3
        if k < 0.65:
            return f"{self.string(depth - 1)} {self.relation()} {self.string(depth - 1)}", 3
        if k < 0.73:
            items = ", ".join(self.number(0, 6) if False else r.choice(["0", "1", "-2", "0.2", "2.5", "9007199254740993"])
                              for _ in range(r.randint(1, 4)))
            return f"{self.number(depth - 1)} {r.choice(['in', 'not in'])} [{items}]", 3
        if k < 0.8:
            items = ", ".join(self.literal() for _ in range(r.randint(1, 4)))
            return f"{self.string(depth - 1)} {r.choice(['in', 'not in'])} [{items}]", 3
        if k < 0.85 or not self.functions:
            return r.choice(["k", "m"]), 8
        if k < 0.92:
            what = r.choice([self.number(depth - 1), self.string(depth - 1), "k"])
            return f"{what} is {r.choice(['', 'not '])}None", 3
        if k < 0.97:
            f = r.choice(["contains", "startswith", "endswith"])
            return f"{f}({self.string(depth - 1)}, {self.string(depth - 1)})", 8
        return f"({self.condition(depth - 1)}) {r.choice(['==', '!='])} {r.choice(['k', 'True', 'False'])}", 3

    def condition(self, depth, at_least=0):
        r = self.r
        k = r.random()
        if depth <= 0 or k < 0.45:
            text, level = self.comparison(max(depth, 1))
            return self.wrap(text, level, at_least)
        if k < 0.65:
            word = " and " if self.words else r.choice([" and ", " & "])
            return self.wrap(word.join(self.condition(depth - 1, 2) for _ in range(r.randint(2, 3))), 1, at_least)
        if k < 0.85:
            word = " or " if self.words else r.choice([" or ", " | "])
            return self.wrap(word.join(self.condition(depth - 1, 1) for _ in range(r.randint(2, 3))), 0, at_least)
        if self.words:
            return self.wrap("not " + self.condition(depth - 1, 2), 2, at_least)
        return f"~({self.condition(depth - 1)})"
