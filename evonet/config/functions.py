"""The [functions] table: custom activations and aggregations, as expressions.

[functions.activations]
swish = "x / (1 + exp(-x))"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evonet.config.task import FrozenTable
from evonet.errors import ExpressionError, OptionError
from evonet.functions.registry import OWN, Texts, undone_on_error
from evonet.messages import did_you_mean, name, show

if TYPE_CHECKING:
    from evonet.config.draft import Draft
    from evonet.config.genome import GenomeTable


def draft_functions(table: object, draft: Draft) -> None:
    """Sorts the entries of the table into functions and faults."""
    if not isinstance(table, Mapping):
        draft.blame("functions", f"= {show(table)} must be a table, [functions.activations], say.")
        return
    for title, texts in table.items():
        key = f"functions.{name(title)}"
        if title not in OWN:
            draft.blame(key, f"is not a kind of function. {did_you_mean(title, OWN)}")
        elif not isinstance(texts, Mapping):
            draft.blame(key, f"= {show(texts)} must be a table, written [{key}].")
        else:
            found = draft.functions.setdefault(str(title), {})
            for word, text in texts.items():
                if isinstance(text, str):
                    found[str(word)] = text
                else:
                    draft.blame(f"{key}.{name(word)}", f"= {show(text)} must be a text.")


@contextmanager
def registered(draft: Draft) -> Iterator[None]:
    """Registers the functions of a draft, and unregisters the new ones if the block raises.

    Functions with faults are noted in the draft; all others get their canonical spelling.
    """
    with undone_on_error():
        for title, texts in draft.functions.items():
            for word, text in list(texts.items()):
                key = f"functions.{title}.{name(word)}"
                try:
                    OWN[title].register(word, text, key)
                    texts[word] = OWN[title].formula(word)
                except (ExpressionError, OptionError) as error:
                    draft.blame(key, _in_one_line(error, key, text))
        yield


def _in_one_line(error: ExpressionError | OptionError, key: str, text: str) -> str:
    message = str(error).split("\n")[0].removeprefix(f"{key}: ")
    position = error.position if isinstance(error, ExpressionError) else None
    where = "" if position is None else f", at character {position + 1}"
    return f"= {show(text)}{where}: {message}"


def complete_functions(texts: Texts, genome: GenomeTable) -> FrozenTable:
    """Adds the custom functions that genes name and the table does not define."""
    found = {title: dict(texts.get(title, {})) for title in OWN}
    for title, gene in (("activations", genome.activation), ("aggregations", genome.aggregation)):
        functions = OWN[title]
        for word in (gene.default, *gene.options):
            known = functions.ids.get(word, 0)
            if known >= functions.num_builtin and word not in found[title]:
                found[title][word] = functions[known].formula
    return FrozenTable(
        {title: FrozenTable(dict(sorted(own.items()))) for title, own in found.items() if own}
    )
