"""The [functions] table: activations and aggregations of one's own, as expressions.

[functions.activations]
swish = "x / (1 + exp(-x))"
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evonet.config.draft import Draft
from evonet.config.task import Table
from evonet.errors import ExpressionError, OptionError
from evonet.functions.registry import OWN, Texts
from evonet.functions.table import Functions
from evonet.messages import name, show

if TYPE_CHECKING:
    from evonet.config.parts import Genome


@contextmanager
def registered(draft: Draft) -> Iterator[None]:
    """Registers the functions of a draft, for as long as it takes to see that all of it is good.

    What has faults is noted in the draft, and what has none is written in the one way. On an error
    all names are given up again.
    """
    new: list[tuple[Functions, str]] = []
    try:
        for title, own in draft.functions.items():
            for word, text in list(own.items()):
                key = f"functions.{title}.{name(word)}"
                try:
                    if OWN[title].register(word, text, key):
                        new.append((OWN[title], word))
                    own[word] = OWN[title].formula(word)
                except (ExpressionError, OptionError) as error:
                    draft.blame(key, _in_one_line(error, key, text))
        yield
    except BaseException:
        for functions, word in new:
            functions.unregister(word)
        raise


def _in_one_line(error: ExpressionError | OptionError, key: str, text: str) -> str:
    message = str(error).split("\n")[0].removeprefix(f"{key}: ")
    position = error.position if isinstance(error, ExpressionError) else None
    where = "" if position is None else f", at character {position + 1}"
    return f"= {show(text)}{where}: {message}"


def freeze_functions(texts: Texts) -> Table:
    """Makes a read-only table, in an order that does not depend on who wrote it."""
    return Table(
        {title: Table(dict(sorted(texts[title].items()))) for title in OWN if texts.get(title)}
    )


def written_out(texts: Texts, genome: Genome) -> Table:
    """Adds the functions that genes name and a config does not spell out, so that it says all.

    Args:
        texts: What the config says itself.
        genome: Which functions genes may have.
    """
    found = {title: dict(texts.get(title, {})) for title in OWN}
    for title, gene in (("activations", genome.activation), ("aggregations", genome.aggregation)):
        functions = OWN[title]
        for word in (gene.default, *gene.options):
            known = functions.ids.get(word, 0)
            if known >= functions.num_builtin and word not in found[title]:
                found[title][word] = functions[known].formula
    return freeze_functions(found)
