"""The campaigns: importable, documented and listed."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

from tests.campaigns import __main__ as listing

NAMES = tuple(listing.docstrings())


@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_documents_its_command_and_all_its_options(name: str) -> None:
    campaign = importlib.import_module(f"tests.campaigns.{name}")
    assert callable(campaign.main)
    text = campaign.__doc__ or ""
    assert re.search(rf"^    python -m tests\.campaigns\.{name}\b", text, re.MULTILINE)
    options = re.findall(r'add_argument\(\s*"(--[\w-]+)"', inspect.getsource(campaign))
    assert [option for option in options if option not in text] == []


def test_the_campaigns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    listing.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == [f"tests.campaigns.{name}" for name in NAMES]
    assert "forward" in NAMES
    assert all(line.endswith(".") for line in lines)
