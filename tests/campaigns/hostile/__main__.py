"""Runs the campaign: python -m tests.campaigns.hostile."""

import sys

from tests.campaigns.hostile import main

sys.exit(main())
