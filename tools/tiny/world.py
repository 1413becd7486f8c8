"""A toy world of captioned pictures, drawn by rule.

A scene is a handful of facts: groups of coloured shapes, how they lie to each other, and the
background. From its facts come the pixels (numpy signed distances, antialiased, at any size
and aspect ratio), any number of captions, and two properties for the heads. All of it follows
from one integer: Python's `random.Random`, whose stream is the same on every version, decides
everything. Nothing here is about real photographs; "aesthetic" and "nsfw" are names of layouts,
and in this world they mean what `aesthetic()` and `Scene.sign` say, nothing more.

    python3 tools/tiny/world.py 7 out.png      # draw scene 7 and print its captions
"""
import colorsys
import dataclasses
import functools
import random
import sys
import zlib

import numpy as np
from PIL import Image

# name: hue (degrees), saturation, value
COLOURS = {
    "red": (0, 0.88, 0.85), "orange": (28, 0.92, 0.95), "yellow": (54, 0.85, 0.96),
    "green": (125, 0.70, 0.60), "cyan": (182, 0.75, 0.82), "blue": (224, 0.82, 0.80),
    "purple": (280, 0.62, 0.60), "pink": (330, 0.42, 0.97), "brown": (24, 0.68, 0.42),
    "black": (0, 0.0, 0.08), "white": (0, 0.0, 0.97), "grey": (0, 0.0, 0.55),
}
GREYS = ("black", "white", "grey")
SHAPES = ("circle", "square", "triangle", "star", "ring", "cross", "heart", "diamond", "moon",
          "arrow")
SIZES = ("small", "medium", "large")
FILLS = ("solid", "striped", "spotted")
GROUNDS = ("plain", "gradient", "striped", "dotted", "checked")
HOLLOW = ("circle", "square", "diamond")  # what can hold another shape inside
PLACES = ("in the top left corner", "at the top", "in the top right corner", "on the left",
          "in the centre", "on the right", "in the bottom left corner", "at the bottom",
          "in the bottom right corner")
COUNTS = (None, "one", "two", "three", "four")
RADIUS = {"small": (0.13, 0.165), "medium": (0.23, 0.275), "large": (0.40, 0.47)}


@dataclasses.dataclass(frozen=True)
class Group:
    shape: str
    colour: str
    size: str
    count: int
    fill: str


@dataclasses.dataclass(frozen=True)
class Scene:
    layout: str   # "single", "row" (left to right), "column" (top to bottom), "inside"
    groups: tuple  # in reading order; for "inside" the inner one first
    place: int    # index into PLACES, used by a single group of one; else the centre
    ground: str
    tint: str     # colour of the background
    sign: bool    # the warning sign, this world's stand-in for what a safety head looks for
    seed: int     # jitter of the drawing; not a fact, no caption speaks of it

    def facts(self):
        """What a full caption tells: two scenes with equal facts look alike."""
        return dataclasses.replace(self, seed=0)

    def held_out(self):
        """One scene in twenty, by its facts: never trained on, whatever the drawing."""
        return zlib.crc32(repr(self.facts()).encode()) % 20 == 0


# ---------------------------------------------------------------- scenes

def pick(rng, options):
    return options[int(rng.random() * len(options))]


def chance(rng, p):
    return rng.random() < p


def random_group(rng, colours, max_count, sizes, fills):
    size = pick(rng, sizes)
    count = 1 if size == "large" or chance(rng, 0.5) else 1 + int(rng.random() * max_count)
    fill = pick(rng, FILLS) if fills and size != "small" and chance(rng, 0.4) else "solid"
    return Group(pick(rng, SHAPES), pick(rng, colours), size, count, fill)


def legal(scene):
    """Facts that can be told apart in the drawing, and drawn without one hiding another."""
    colours = [g.colour for g in scene.groups]
    if scene.tint in colours:
        return False
    looks = {(g.shape, g.colour, g.size, g.fill) for g in scene.groups}
    if len(looks) < len(scene.groups):
        return False
    most = {"single": 4, "row": 4, "column": 4, "inside": 1}[scene.layout]
    if len(scene.groups) == 3:
        most = 2
    for g in scene.groups:
        if g.count > most or (g.size == "large" and (g.count > 1 or len(scene.groups) == 3)):
            return False
        if g.size == "small" and g.fill != "solid":
            return False
    if scene.layout == "single":
        g = scene.groups[0]
        return g.count == 1 or scene.place == 4
    if scene.layout == "inside":
        inner, outer = scene.groups
        return (inner.size == "small" and outer.size == "large" and outer.fill == "solid" and
                outer.shape in HOLLOW and inner.colour != outer.colour and scene.place == 4)
    return scene.place == 4


def random_scene(rng, colours=tuple(COLOURS)):
    while True:
        layout = pick(rng, ("single", "single", "row", "row", "column", "column", "inside"))
        n = {"single": 1, "inside": 2}.get(layout) or (3 if chance(rng, 0.3) else 2)
        sizes = SIZES if n < 3 else SIZES[:2]
        groups = [random_group(rng, colours, 2 if n == 3 else 4, sizes, n < 3) for _ in range(n)]
        if layout == "inside":
            groups = [Group(groups[0].shape, groups[0].colour, "small", 1, "solid"),
                      Group(pick(rng, HOLLOW), groups[1].colour, "large", 1, "solid")]
        place = int(rng.random() * 9) if layout == "single" and groups[0].count == 1 else 4
        scene = Scene(layout, tuple(groups), place, pick(rng, GROUNDS), pick(rng, colours),
                      chance(rng, 0.12), int(rng.random() * 2**31))
        if legal(scene):
            return scene


def changed(scene, rng):
    """A sibling that differs in one fact: the hard negatives that teach what belongs to what."""
    for _ in range(200):
        groups = list(scene.groups)
        i = int(rng.random() * len(groups))
        new = dataclasses.replace(scene, seed=int(rng.random() * 2**31))
        what = pick(rng, ("colour", "shape", "size", "count", "fill", "swap colours",
                          "swap order", "place", "ground", "tint", "sign", "turn"))
        if what == "colour":
            groups[i] = dataclasses.replace(groups[i], colour=pick(rng, tuple(COLOURS)))
        elif what == "shape":
            groups[i] = dataclasses.replace(groups[i], shape=pick(rng, SHAPES))
        elif what == "size":
            groups[i] = dataclasses.replace(groups[i], size=pick(rng, SIZES))
        elif what == "count":
            groups[i] = dataclasses.replace(groups[i], count=1 + int(rng.random() * 4))
        elif what == "fill":
            groups[i] = dataclasses.replace(groups[i], fill=pick(rng, FILLS))
        elif what == "swap colours" and len(groups) > 1:
            a, b = groups[0], groups[1]
            groups[0] = dataclasses.replace(a, colour=b.colour)
            groups[1] = dataclasses.replace(b, colour=a.colour)
        elif what == "swap order" and len(groups) > 1:
            groups.reverse()
        elif what == "place":
            new = dataclasses.replace(new, place=int(rng.random() * 9))
        elif what == "ground":
            new = dataclasses.replace(new, ground=pick(rng, GROUNDS))
        elif what == "tint":
            new = dataclasses.replace(new, tint=pick(rng, tuple(COLOURS)))
        elif what == "sign":
            new = dataclasses.replace(new, sign=not new.sign)
        elif what == "turn" and scene.layout in ("row", "column"):
            turned = "row" if scene.layout == "column" else "column"
            new = dataclasses.replace(new, layout=turned)
        new = dataclasses.replace(new, groups=tuple(groups))
        if legal(new) and new.facts() != scene.facts():
            return new
    raise RuntimeError("no sibling found")  # a scene always has other backgrounds


def family(seed, index, size=4):
    """A training scene and size-1 siblings, each one fact away from the first; none held out."""
    rng = random.Random(f"{seed}/{index}")
    first = random_scene(rng)
    while first.held_out():
        first = random_scene(rng)
    scenes = [first]
    while len(scenes) < size:
        sibling = changed(first, rng)
        if not sibling.held_out() and all(sibling.facts() != s.facts() for s in scenes):
            scenes.append(sibling)
    return scenes


def unseen_scenes(seed, n, colours=tuple(COLOURS)):
    """n held-out scenes with pairwise different facts."""
    rng = random.Random(f"unseen {seed}")
    seen, scenes = set(), []
    while len(scenes) < n:
        scene = random_scene(rng, colours)
        if scene.held_out() and scene.facts() not in seen:
            seen.add(scene.facts())
            scenes.append(scene)
    return scenes


def unseen_family(rng, size=4):
    """A held-out scene and held-out siblings: the hard test, one fact apart."""
    while True:
        first = random_scene(rng)
        if not first.held_out():
            continue
        scenes = [first]
        for _ in range(60 * size):
            sibling = changed(first, rng)
            if sibling.held_out() and all(sibling.facts() != s.facts() for s in scenes):
                scenes.append(sibling)
            if len(scenes) == size:
                return scenes


# ---------------------------------------------------------------- the two properties

CALM = {"plain": 1.0, "gradient": 0.9, "striped": 0.45, "dotted": 0.35, "checked": 0.1}


def harmony(a, b):
    """1 for neighbouring or opposite hues, 0.2 for the clashing middle, 0.7 for greys."""
    if a in GREYS or b in GREYS:
        return 0.7
    gap = abs(COLOURS[a][0] - COLOURS[b][0]) % 360
    gap = min(gap, 360 - gap)
    return 1.0 if gap <= 40 or gap >= 150 else 0.2


def aesthetic(scene):
    """1..10: few things, a calm background, colours that go together, a centred composition."""
    things = sum(g.count for g in scene.groups)
    few = max(0.0, 1 - (things - 1) / 6)
    match = sum(harmony(g.colour, scene.tint) for g in scene.groups) / len(scene.groups)
    if scene.layout in ("single", "inside"):
        centred = 1.0 if scene.place == 4 else 0.5 if scene.place % 2 else 0.0
    else:
        centred = 0.6
    score = 0.35 * few + 0.30 * CALM[scene.ground] + 0.15 * match + 0.20 * centred
    return min(10.0, max(1.0, 1 + 9 * score - (1.5 if scene.sign else 0.0)))


# ---------------------------------------------------------------- captions

OTHER_WORDS = {
    "grey": ("gray",), "purple": ("violet",), "circle": ("disc",), "cross": ("plus",),
    "moon": ("crescent",), "small": ("little", "tiny"), "large": ("big", "huge"),
    "spotted": ("polka dot",), "striped": ("stripy",), "two": ("2",), "three": ("3",),
    "four": ("4",),
}


def word(rng, w):
    others = OTHER_WORDS.get(w)
    return pick(rng, others) if others and rng is not None and chance(rng, 0.2) else w


def article(phrase):
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def plural(noun):
    return noun + ("es" if noun.endswith(("s", "x")) else "s")


def noun_phrase(g, rng, full):
    words = []
    if g.size != "medium" and (full or not chance(rng, 0.3)):
        words.append(word(rng, g.size))
    if g.fill != "solid" and (full or not chance(rng, 0.3)):
        words.append(word(rng, g.fill))
    words.append(word(rng, g.colour))
    shape = word(rng, g.shape)
    if g.count == 1:
        return article(" ".join(words + [shape]))
    return " ".join([word(rng, COUNTS[g.count])] + words + [plural(shape)])


def ground_phrase(scene, rng):
    """The background as a noun phrase without article."""
    tint = word(rng, scene.tint)
    form = int(rng.random() * 3) if rng else 0
    if scene.ground == "plain":
        return (f"plain {tint} background", f"{tint} background", f"plain {tint} ground")[form]
    if scene.ground == "gradient":
        return (f"{tint} gradient background", f"fading {tint} background",
                f"{tint} background with a gradient")[form]
    pattern = {"striped": "stripes", "dotted": "dots", "checked": "checks"}[scene.ground]
    return (f"{scene.ground} {tint} background", f"{tint} background with {pattern}",
            f"{tint} {scene.ground} ground")[form]


def relation(scene, names, rng):
    form = int(rng.random() * 4) if rng else 0
    if scene.layout == "single":
        one = names[0]
        if scene.groups[0].count > 1:
            return one
        place = PLACES[scene.place]
        return f"{place} {one}" if form == 3 else f"{one} {place}"
    if scene.layout == "inside":
        a, b = names
        return (f"{a} inside {b}", f"{b} with {a} inside", f"{b} around {a}", f"{a} in {b}")[form]
    row = scene.layout == "row"
    if len(names) == 3:
        a, b, c = names
        order = "from left to right" if row else "from top to bottom"
        return f"{order} {a}, {b} and {c}" if form % 2 else f"{a}, {b} and {c} {order}"
    a, b = names
    if row:
        return (f"{a} left of {b}", f"{a} to the left of {b}", f"{b} right of {a}",
                f"{a} on the left and {b} on the right")[form]
    return (f"{a} above {b}", f"{a} over {b}", f"{b} below {a}", f"{a} on top and {b} below")[form]


def frame(scene, rng):
    if rng is None or chance(rng, 0.5):
        return ""
    kind = pick(rng, ("picture", "drawing", "image"))
    score = aesthetic(scene)
    mood = "beautiful" if score >= 7.5 else "ugly" if score <= 4.5 else ""
    if mood and chance(rng, 0.5):
        return article(f"{mood} {kind} of ")
    return article(f"{kind} of ")


def caption(scene, rng=None, full=True):
    """One of many ways to say it. full=False may leave facts out, as people do. Without rng:
    the plainest full wording."""
    names = [noun_phrase(g, rng, full) for g in scene.groups]
    if not full and len(names) > 1 and chance(rng, 0.2):
        body = " and ".join(names)
    else:
        body = relation(scene, names, rng)
    tell_ground = full or not chance(rng, 0.25)
    tell_sign = scene.sign and (full or not chance(rng, 0.1))
    sign = (" " + pick(rng, ("with", "marked with", "beside")) if rng else " with") + \
        " a warning sign" if tell_sign else ""
    if not tell_ground:
        return frame(scene, rng) + body + sign
    ground = article(ground_phrase(scene, rng))
    if rng is not None and chance(rng, 0.2):
        return frame(scene, rng) + f"{body} in front of {ground}{sign}"
    if rng is not None and chance(rng, 0.2):
        return f"on {ground}, {body}{sign}"
    return frame(scene, rng) + f"{body} on {ground}{sign}"


# ---------------------------------------------------------------- drawing
# Coordinates: the centred square of the picture is [-1,1] x [-1,1], y down; the longer side
# goes beyond. Things stay inside the square, so a centre crop loses only background.

def _box(u, v, a, b):
    return np.maximum(np.abs(u) - a, np.abs(v) - b)


def _half_planes(u, v, *planes):
    return functools.reduce(np.maximum, (a * u + b * v - c for a, b, c in planes))


def _star(u, v):
    turn = 2 * np.pi / 5
    angle = np.arctan2(u, -v)
    angle = np.abs((angle + turn / 2) % turn - turn / 2)
    r = np.hypot(u, v)
    x, y = r * np.sin(angle), r * np.cos(angle)
    # the edge from the tip (0,1) to the notch at half a turn, radius 0.42
    ax, ay = 0.42 * np.sin(turn / 2), 0.42 * np.cos(turn / 2) - 1
    length = np.hypot(ax, ay)
    return (x * -ay + (y - 1) * ax) / length


def _heart(u, v):
    lobes = np.minimum(np.hypot(u - 0.45, v + 0.35), np.hypot(u + 0.45, v + 0.35)) - 0.5
    wedge = _half_planes(np.abs(u), v, (0.7071, 0.7071, 0.571), (0, -1, 0.0))
    return np.minimum(np.minimum(lobes, wedge), _box(u, v + 0.17, 0.45, 0.19))


def _arrow(u, v):
    head = _half_planes(np.abs(u), v, (0.7071, -0.7071, 0.67), (0, 1, 0.05))
    return np.minimum(head, _box(u, v - 0.4, 0.28, 0.55))


DISTANCE = {
    "circle": lambda u, v: np.hypot(u, v) - 0.95,
    "square": lambda u, v: _box(u, v, 0.82, 0.82),
    "triangle": lambda u, v: _half_planes(np.abs(u), v, (0.866, -0.5, 0.5), (0, 1, 0.7)),
    "star": _star,
    "ring": lambda u, v: np.abs(np.hypot(u, v) - 0.72) - 0.23,
    "cross": lambda u, v: np.minimum(_box(u, v, 0.95, 0.32), _box(u, v, 0.32, 0.95)),
    "heart": _heart,
    "diamond": lambda u, v: (np.abs(u) / 0.62 + np.abs(v) - 1) * 0.527,
    "moon": lambda u, v: np.maximum(np.hypot(u, v) - 0.95, 0.85 - np.hypot(u - 0.5, v + 0.2)),
    "arrow": _arrow,
}


def rgb(name, rng):
    h, s, v = COLOURS[name]
    hue = (h + (rng.random() - 0.5) * 12) / 360 % 1
    if s:
        s = min(1.0, s + (rng.random() - 0.5) * 0.14)
    v = min(1.0, max(0.0, v + (rng.random() - 0.5) * 0.12))
    return np.array(colorsys.hsv_to_rgb(hue, s, v), np.float32) * 255


def second_tone(colour, amount):
    """A shade of the same colour: darker for bright ones, lighter for dark ones."""
    towards = 0.0 if colour.mean() > 105 else 255.0
    return colour + (towards - colour) * np.float32(amount)


def _soft(d, px):
    return np.clip(0.5 - d / px, 0, 1)


class Canvas:
    def __init__(self, width, height):
        short = min(width, height)
        self.px = np.float32(2.0 / short)
        self.x = ((np.arange(width, dtype=np.float32) + 0.5 - width / 2) * self.px)[None, :]
        self.y = ((np.arange(height, dtype=np.float32) + 0.5 - height / 2) * self.px)[:, None]
        self.pixels = np.empty((height, width, 3), np.float32)

    def blend(self, cover, colour, rows=slice(None), cols=slice(None)):
        part = self.pixels[rows, cols]
        part += (colour - part) * cover[..., None]

    def window(self, cx, cy, r):
        """Rows and columns that a thing of radius r about (cx, cy) can touch."""
        cols = np.flatnonzero(np.abs(self.x[0] - cx) <= r)
        rows = np.flatnonzero(np.abs(self.y[:, 0] - cy) <= r)
        if not len(rows) or not len(cols):
            return None
        return slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)


def draw_ground(canvas, scene, rng):
    one = rgb(scene.tint, rng)
    two = second_tone(one, 0.26 + 0.1 * rng.random())
    canvas.pixels[:] = one
    x, y, px = canvas.x, canvas.y, canvas.px
    if scene.ground == "gradient":
        angle = rng.random() * 2 * np.pi
        t = (x * np.float32(np.cos(angle)) + y * np.float32(np.sin(angle))) / 2.4 + 0.5
        canvas.blend(np.clip(t, 0, 1), second_tone(one, 0.65))
        return
    if scene.ground == "plain":
        return
    period = 0.34 + 0.14 * rng.random()
    shift = rng.random() * period
    if scene.ground == "striped":
        angle = pick(rng, (0.0, 0.25, 0.5, 0.75)) * np.pi
        t = x * np.float32(np.cos(angle)) + y * np.float32(np.sin(angle)) + shift
        canvas.blend(_soft(np.abs((t / period) % 1 - 0.5) * period - period / 4, px), two)
        return
    u = ((x + shift) / period) % 1 - 0.5
    v = ((y + shift) / period) % 1 - 0.5
    if scene.ground == "dotted":
        canvas.blend(_soft((np.hypot(u, v) - 0.28) * period, px), two)
        return
    a = _soft((np.abs(u) - 0.25) * period, px)
    b = _soft((np.abs(v) - 0.25) * period, px)
    canvas.blend(a * (1 - b) + b * (1 - a), two)


def draw_thing(canvas, group, cx, cy, r, rng):
    tilt = (rng.random() - 0.5) * 0.4
    window = canvas.window(cx, cy, r * 1.45)
    colour = rgb(group.colour, rng)
    if window is None:
        return
    rows, cols = window
    x, y = (canvas.x[:, cols] - cx) / r, (canvas.y[rows] - cy) / r
    c, s = np.float32(np.cos(tilt)), np.float32(np.sin(tilt))
    u, v = x * c + y * s, y * c - x * s
    px = canvas.px / r
    cover = _soft(DISTANCE[group.shape](u, v), px).astype(np.float32)
    canvas.blend(cover, colour, rows, cols)
    if group.fill == "striped":
        t = (u + v) / 0.62 % 1
        canvas.blend(cover * _soft((np.abs(t - 0.5) - 0.25) * 0.44, px),
                     second_tone(colour, 0.62), rows, cols)
    elif group.fill == "spotted":
        a, b = (u / 0.56 + 0.5) % 1 - 0.5, (v / 0.56 + 0.5) % 1 - 0.5
        canvas.blend(cover * _soft((np.hypot(a, b) - 0.27) * 0.56, px),
                     second_tone(colour, 0.7), rows, cols)


def draw_sign(canvas, rng):
    """A black disc with a pale skull-like face, in one of the corners."""
    r = 0.19 + 0.05 * rng.random()
    cx = pick(rng, (-1, 1)) * (0.98 - r - 0.04 * rng.random())
    cy = pick(rng, (-1, 1)) * (0.98 - r - 0.04 * rng.random())
    rows, cols = canvas.window(cx, cy, r * 1.3)
    u, v = (canvas.x[:, cols] - cx) / r, (canvas.y[rows] - cy) / r
    px = canvas.px / r
    canvas.blend(_soft(np.hypot(u, v) - 1.15, px), np.float32([250, 205, 20]), rows, cols)
    canvas.blend(_soft(np.hypot(u, v) - 0.95, px), np.float32([12, 12, 12]), rows, cols)
    bone = np.minimum(np.hypot(u, v + 0.18) - 0.58, _box(u, v - 0.45, 0.32, 0.27))
    canvas.blend(_soft(bone, px), np.float32([240, 236, 225]), rows, cols)
    holes = np.minimum(np.hypot(np.abs(u) - 0.25, v + 0.12) - 0.18, _box(u, v - 0.55, 0.04, 0.2))
    canvas.blend(_soft(holes, px), np.float32([12, 12, 12]), rows, cols)


def spots(scene, rng):
    """Where each thing goes: (group, x, y, r) in drawing order."""
    def jitter(amount):
        return (rng.random() - 0.5) * 2 * amount

    def radius(g, room=9.0):
        low, high = RADIUS[g.size]
        return min(low + (high - low) * rng.random(), room)

    if scene.layout == "inside":
        inner, outer = scene.groups
        x, y = jitter(0.3), jitter(0.3)
        return [(outer, x, y, 0.60 + jitter(0.04)),
                (inner, x + jitter(0.05), y + jitter(0.05), 0.235 + jitter(0.02))]
    if scene.layout == "single":
        g = scene.groups[0]
        if g.count == 1:
            r = radius(g) * (1.2 if g.size == "large" else 1)
            reach = 0.92 - r
            return [(g, (scene.place % 3 - 1) * reach + jitter(0.05),
                     (scene.place // 3 - 1) * reach + jitter(0.05), r)]
        r = radius(g)
        turn = jitter(np.pi)
        far = 0.46 + jitter(0.06)
        return [(g, far * np.cos(turn + 2 * np.pi * i / g.count),
                 far * np.sin(turn + 2 * np.pi * i / g.count), r) for i in range(g.count)]
    n, out = len(scene.groups), []
    for i, g in enumerate(scene.groups):
        along = (2 * i + 1 - n) / n
        r = radius(g, 0.9 / n)
        if g.count > 2:
            r = min(r, 0.225)
        for j in range(g.count):
            across = (2 * j + 1 - g.count) / g.count * 0.95
            slack = max(0.0, 0.9 / g.count - r)
            a = along + jitter(max(0.0, 0.9 / n - r) * 0.6)
            b = across + jitter(min(slack, 0.35))
            out.append((g, a, b, r) if scene.layout == "row" else (g, b, a, r))
    return out


def draw(scene, width, height):
    """The scene as uint8 [height, width, 3]."""
    rng = random.Random(f"draw {scene.seed}")
    canvas = Canvas(width, height)
    draw_ground(canvas, scene, rng)
    for group, x, y, r in spots(scene, rng):
        draw_thing(canvas, group, np.float32(x), np.float32(y), np.float32(r), rng)
    if scene.sign:
        draw_sign(canvas, rng)
    return (canvas.pixels + 0.5).clip(0, 255).astype(np.uint8)


def random_size(rng, low, high):
    """(width, height) with a shorter side in low..high; half are square, none above 2:1."""
    short = low + int(rng.random() * (high - low + 1))
    if chance(rng, 0.5):
        return short, short
    long = int(short * (1 + rng.random()))
    return (long, short) if chance(rng, 0.6) else (short, long)


def see(image, size):
    """What a model of that image size sees: shortest side bicubic, centre crop (torchvision)."""
    w, h = image.size
    short = min(w, h)
    new = (int(size * w / short), int(size * h / short))
    image = image.convert("RGB").resize(new, Image.BICUBIC)
    left, top = int(round((new[0] - size) / 2)), int(round((new[1] - size) / 2))
    return image.crop((left, top, left + size, top + size))


if __name__ == "__main__":
    seed, path = int(sys.argv[1]), sys.argv[2]
    shown = random_scene(random.Random(seed))
    Image.fromarray(draw(shown, 256, 256)).save(path)
    print(f"aesthetic {aesthetic(shown):.2f}, warning sign: {shown.sign}")
    talk = random.Random(0)
    for line in [caption(shown)] + [caption(shown, talk, full=i < 4) for i in range(7)]:
        print(" ", line)
