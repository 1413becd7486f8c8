"""Every verb explains itself; man pages and completion come from the same tables."""
import subprocess

import pytest
from conftest import darkroom

VERBS = ["embed", "score", "filter", "dedup", "export", "curate", "report", "explain", "inspect", "model", "status", "verify", "gc", "device", "version", "help"]


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb):
    r = darkroom(verb, "--help", check=0)
    assert r.stdout.startswith(f"usage: darkroom {verb}") and "exit codes" in r.stdout
    man = darkroom("help", "--man", verb, check=0).stdout
    assert man.startswith(".TH") and ".SH EXIT STATUS" in man


def test_overview_lists_every_verb():
    r = darkroom("--help", check=0)
    assert all(f"  {v} " in r.stdout for v in VERBS)
    assert darkroom().returncode == 2


def test_bash_completion_is_a_script(tmp_path):
    (tmp_path / "c").write_text(darkroom("help", "--completion", "bash", check=0).stdout)
    assert subprocess.run(["bash", "-n", tmp_path / "c"]).returncode == 0


def test_version():
    assert "libjpeg-turbo" in darkroom("version", check=0).stdout
