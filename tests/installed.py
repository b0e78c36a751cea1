"""Marks of tests that use what another distribution brings: skipped, with the reason, where the product is installed alone."""

import pytest

from seekwise import extensions

needs_papers = pytest.mark.skipif(
    "published" not in extensions.entries(extensions.STUDIES),
    reason="seekwise-papers, with the published studies, is not installed",
)
needs_proof = pytest.mark.skipif(
    "verify" not in extensions.entries(extensions.COMMANDS),
    reason="seekwise-proof, with this command, is not installed",
)
