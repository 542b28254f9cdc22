"""Long checks, run as python -m tests.campaigns.NAME; tests run a small part of each."""
