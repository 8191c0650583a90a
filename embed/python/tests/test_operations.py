"""The 10,000 recorded operations that every host plays (docs/embedding.md, One digest)."""

from player import digest
from support import ROOT


def test_the_digest_is_that_of_all_hosts():
    assert f"digest {digest(ROOT / 'dist/embed/operations.bin')}" == (ROOT / "test/embed/digest.txt").read_text().strip()
