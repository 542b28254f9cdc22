"""A champion as JSON text, and the digest of what the text says.

Genes are written by columns, a million links in about two seconds; everything else by `json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Functions
from evonet.genes.arrays import RealArray
from evonet.genes.population import Population

Genes: TypeAlias = Mapping[str, bytes]
"""A line of JSON for each gene, by "nodes" and "connections"."""


def write_genes(genome: Population) -> dict[str, bytes]:
    """Writes the genes of one genome, keys in alphabetical order, as `json` would."""
    p, listed = genome, np.argsort(genome.rank)
    nodes = zip(
        _names(p.activation, ACTIVATION_TABLE),
        _names(p.aggregation, AGGREGATION_TABLE),
        _numbers(p.bias),
        p.node_key.tolist(),
        _numbers(p.response),
        _numbers(p.time_constant),
        strict=True,
    )
    links = zip(
        np.where(p.enabled[listed], "true", "false").tolist(),
        *(column[listed].tolist() for column in (p.innovation, p.source, p.target)),
        _numbers(p.weight[listed]),
        strict=True,
    )
    lines = {
        "nodes": [
            f'{{"activation": "{activation}", "aggregation": "{aggregation}", "bias": {bias}, '
            f'"key": {key}, "response": {response}, "time_constant": {tau}}}'
            for activation, aggregation, bias, key, response, tau in nodes
        ],
        "connections": [
            f'{{"enabled": {enabled}, "innovation": {innovation}, "source": {source}, '
            f'"target": {target}, "weight": {weight}}}'
            for enabled, innovation, source, target, weight in links
        ],
    }
    return {name: ",\n  ".join(genes).encode() for name, genes in lines.items()}


def digest_text(document: Mapping[str, Any], genes: Genes) -> str:
    """Returns what `digest` returns for the document with its genes."""
    entries = []
    for name in sorted((*document, *genes)):
        if name in genes:
            # No name of a function has a space, so what is left is what `json` writes compactly.
            value = b"[" + genes[name].translate(None, b" \n") + b"]"
        else:
            value = json.dumps(document[name], sort_keys=True, separators=(",", ":")).encode()
        entries.append(f'"{name}":'.encode() + value)
    return hashlib.sha256(b"{" + b",".join(entries) + b"}").hexdigest()


def digest(document: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of a document that was read."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def lay_out_text(document: Mapping[str, Any], genes: Genes) -> bytes:
    """Puts every entry on a line of its own, and every gene too."""
    lines = []
    for name in sorted((*document, *genes)):
        if genes.get(name):
            value = b"[\n  " + genes[name] + b"\n ]"
        else:
            value = json.dumps(document.get(name, []), sort_keys=True).encode()
        lines.append(f' "{name}": '.encode() + value)
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def _names(ids: np.ndarray[Any, Any], functions: Functions) -> list[str]:
    return [functions[i].name for i in ids.tolist()]


def _numbers(values: RealArray) -> list[str]:
    """Writes numbers with as few digits as their type needs, 0.1 and not 0.10000000149011612."""
    if values.dtype == np.float64:
        return list(map(repr, values.tolist()))
    # NumPy writes powers of ten sooner than Python does.
    return [repr(float(n)) if "e" in n else n for n in values.astype(str).tolist()]
