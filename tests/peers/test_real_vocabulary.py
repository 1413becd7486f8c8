"""The unit tests that need CLIP's real vocabulary, with the one that open_clip brings."""
import os
import subprocess
from pathlib import Path

import pytest

open_clip = pytest.importorskip("open_clip")
BUILD = Path(os.environ.get("DARKROOM_BUILD", "build"))


def test_units_with_the_real_vocabulary():
    vocab = Path(open_clip.__file__).parent / "bpe_simple_vocab_16e6.txt.gz"
    r = subprocess.run([BUILD / "tests/unit/test_text"], capture_output=True, text=True,
                       env=dict(os.environ, DARKROOM_TEST_VOCAB=str(vocab)))
    assert r.returncode == 0 and "0 skipped" in r.stdout, r.stdout
