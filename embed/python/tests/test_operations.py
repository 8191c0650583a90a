"""Plays the recorded operations that every host plays (docs/embed/protocol.md, One digest), and the operations with packed leaves."""

import pytest
from player import digest
from support import ROOT


@pytest.mark.parametrize(("name", "kept"), [("operations", "digest.txt"), ("packed", "packed-digest.txt")])
def test_the_digest_is_that_of_all_hosts(name, kept):
    assert f"digest {digest(ROOT / f'dist/embed/{name}.bin')}" == (ROOT / "test/embed" / kept).read_text().strip()
