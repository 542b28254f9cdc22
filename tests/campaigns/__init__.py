"""Long checks of results, listed by `python -m tests.campaigns`; tests run a part of each."""
