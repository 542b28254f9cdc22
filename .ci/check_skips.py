"""Fails when a test was skipped that should have run here."""

import sys
import xml.etree.ElementTree as ElementTree

# Marker or reason fragments of skips that are right on a machine without a GPU.
EXPECTED: tuple[str, ...] = (
    # These tests run later, where a skip is a failure.
    "needs NVRTC",
    "needs JAX",
    # Games under the GPL, which CI does without.
    "needs MinAtar",
)

cases = list(ElementTree.parse(sys.argv[1]).iter("testcase"))
skipped = [
    # A file that is skipped as a whole has its reason in the text.
    (f"{case.get('classname')}::{case.get('name')}", f"{note.get('message')} {note.text or ''}")
    for case in cases
    for note in case.iter("skipped")
]
unexpected = [row for row in skipped if not any(known in row[1] for known in EXPECTED)]
for name, reason in unexpected:
    print(f"unexpected skip: {name}: {reason}")
if unexpected or not cases:
    sys.exit(f"{len(unexpected)} unexpected skips among {len(cases)} tests")
