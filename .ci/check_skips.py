"""Fails when a test was skipped that should have run here."""

import sys
import xml.etree.ElementTree as ElementTree

# Marker or reason fragments of skips that are right on a machine without a GPU.
EXPECTED: tuple[str, ...] = (
    "needs NVRTC",  # these tests run later, where a skip is a failure
)

cases = list(ElementTree.parse(sys.argv[1]).iter("testcase"))
skipped = [
    (f"{case.get('classname')}::{case.get('name')}", note.get("message") or "")
    for case in cases
    for note in case.iter("skipped")
]
unexpected = [row for row in skipped if not any(known in row[1] for known in EXPECTED)]
for name, reason in unexpected:
    print(f"unexpected skip: {name}: {reason}")
if unexpected or not cases:
    sys.exit(f"{len(unexpected)} unexpected skips among {len(cases)} tests")
