"""Measure models/tiny with open_clip, not with the code that trained it, and write report.json.

Loads the folder as open_clip's `local-dir:`, prepares pictures and text with open_clip's transforms
and tokenizer, and asks both ways: which of 100 or 1,000 unseen pictures does a caption mean, and
which caption a picture. Then the two heads, as torch files.

    python3 tools/tiny/check.py models/tiny
"""
import json
import os
import sys

import open_clip
import torch

import heads
import measure
import world


def load(folder):
    model, _, prepare = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    with open(os.path.join(folder, "open_clip_config.json")) as f:
        context = json.load(f)["model_cfg"]["text_cfg"]["context_length"]
    words = open_clip.tokenizer.SimpleTokenizer(os.path.join(folder, "vocab.txt.gz"),
                                                context_length=context)
    return model.eval(), prepare, words


@torch.no_grad()
def embed(model, prepare, words, pictures, captions):
    pixels = torch.stack([prepare(p) for p in pictures])
    image = [model.encode_image(x, normalize=True) for x in pixels.split(250)]
    text = [model.encode_text(x, normalize=True) for x in words(captions).split(250)]
    return torch.cat(image).numpy(), torch.cat(text).numpy()


def report(folder):
    model, prepare, words = load(folder)
    scenes, pictures, captions = measure.unseen_set(1000)
    image, text = embed(model, prepare, words, pictures, captions)
    out = measure.retrieval(image, text)
    _, pictures, captions = measure.unseen_families(250)
    near, far = embed(model, prepare, words, pictures, captions)
    out["text_to_image_recall_at_1_of_4_siblings"] = measure.recall_at_1(far, near, 4)
    label = torch.tensor([[world.aesthetic(s), s.sign] for s in scenes])
    with torch.no_grad():
        scores = [heads.load(os.path.join(folder, f))(torch.from_numpy(image))
                  for f in ("aesthetic.pth", "nsfw.pth")]
    out.update(heads.report(*scores, label))
    out["bytes"] = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)
                       if f != "report.json")
    out["open_clip"], out["torch"] = open_clip.__version__, torch.__version__
    return out


def main():
    folder = sys.argv[1]
    path = os.path.join(folder, "report.json")
    known = {}
    if os.path.exists(path):
        with open(path) as f:
            known = json.load(f)
    known["check"] = report(folder)
    with open(path, "w") as f:
        f.write(json.dumps(known, indent=2) + "\n")
    print(json.dumps(known["check"], indent=2))


if __name__ == "__main__":
    main()
