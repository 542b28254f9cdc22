"""Named arrays and settings in one checksummed safetensors file.

The metadata has one entry, `evonet`: a JSON object with the format's name and version, the
settings, and a SHA-256 of all that and every array. (One entry, because safetensors writes several
in random order, and equal contents should give equal files.)

Reading executes nothing and trusts nothing: anything that `write_tensors` would not write is a
`FileFormatError`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic
from evonet.files.regular import open_regular
from evonet.messages import name as quoted
from evonet.messages import printable, show

METADATA_KEY: Final = "evonet"
# Headers hold names and settings, no data.
MOST_HEADER_BYTES: Final = 1 << 26
MOST_DIMENSIONS: Final = 32
TYPES: Final[dict[str, str]] = {
    "BOOL": "bool",
    "U8": "uint8",
    "U32": "uint32",
    "U64": "uint64",
    "I32": "int32",
    "I64": "int64",
    "F32": "float32",
    "F64": "float64",
}


def write_tensors(
    path: str | os.PathLike[str],
    format: str,
    version: int,
    settings: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
) -> None:
    """Writes arrays and settings, atomically; equal arguments give equal bytes.

    Args:
        path: The file to replace or create.
        format: The name of the format, such as "evonet.population".
        version: The version of the format.
        settings: JSON values by name.
        tensors: Contiguous arrays of a type in `TYPES`, by name.

    Raises:
        OSError: The file cannot be written.
    """
    from safetensors.numpy import save

    facts = {"format": format, "version": version, **settings}
    facts["sha256"] = _checksum(facts, tensors)
    data = save(dict(tensors), {METADATA_KEY: _compact(facts)})
    with open_atomic(path) as file:
        file.write(data)


def read_tensors(
    path: str | os.PathLike[str],
    format: str,
    version: int,
    names: Iterable[str],
    prefix: str | None = None,
    check: Callable[[Mapping[str, Any]], None] | None = None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Reads what `write_tensors` wrote.

    Args:
        path: The file to read.
        format: The format that the file must have.
        version: The newest version that the caller understands.
        names: The arrays that the file must hold, no more and no fewer.
        prefix: The start of the names of further arrays, of which there may be any; None for none.
        check: Raises if the settings do not match the arrays that the caller expects.

    Returns:
        The settings, with "version" among them, and the arrays.

    Raises:
        FileFormatError: The file is damaged, or holds something else.
        OSError: There is no such file, or it cannot be read.
    """
    where = os.fspath(path)
    with open_regular(path) as file:
        # The rest, which may be long, is read once the start is known to be right.
        facts = _read_facts(file, where)
        _check_format(facts, format, version, where)
        file.seek(0)
        data = file.read()
    tensors = _read_arrays(data, where)
    if facts.pop("sha256", None) != _checksum(facts, tensors):
        raise FileFormatError(
            f"{where}: the file is damaged. Its contents do not match its checksum."
        )
    if check is not None:
        check(facts)
    found_names = {name for name in tensors if prefix is None or not name.startswith(prefix)}
    _check_names(found_names, set(names), where)
    return facts, tensors


def _check_format(facts: Mapping[str, Any], format: str, version: int, where: str) -> None:
    if facts.get("format") != format:
        raise FileFormatError(
            f'{where}: the format is {show(facts.get("format"))}. Expected "{format}".'
        )
    found = facts.get("version")
    if type(found) is not int or found < 1:
        raise FileFormatError(f"{where}: the version is {show(found)}. Expected 1 to {version}.")
    if found > version:
        raise FileFormatError(
            f"{where}: version {show(found)} is from a newer evonet. This one reads versions up to "
            f"{version}. Update evonet."
        )


def _read_facts(file: BinaryIO, where: str) -> dict[str, Any]:
    """Parses the header down to evonet's own JSON object."""
    length = int.from_bytes(file.read(8), "little")
    header = file.read(length) if length <= MOST_HEADER_BYTES else b""
    if len(header) < 2 or len(header) < length or not header.startswith(b"{"):
        raise FileFormatError(f"{where}: this is not a safetensors file, or it is truncated.")
    parsed = _parse(header, where)
    metadata = parsed.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(METADATA_KEY), str):
        raise FileFormatError(f"{where}: this safetensors file was not written by evonet.")
    return _parse(metadata[METADATA_KEY].encode(errors="replace"), where)


def _parse(text: bytes, where: str) -> dict[str, Any]:
    """Parses a JSON object that was written compactly and may be padded with spaces."""
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and _compact(parsed).encode() == text.rstrip(b" "):
            return parsed
    except (ValueError, RecursionError):
        pass
    raise FileFormatError(
        f"{where}: the file is damaged. Its header is not the JSON that was written."
    )


def _read_arrays(data: bytes, where: str) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError, deserialize

    try:
        views = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        reason = printable(str(error))
        raise FileFormatError(f"{where}: the file is damaged or truncated ({reason}).") from None
    arrays: dict[str, NDArray[Any]] = {}
    for name, view in views:
        if len(view["shape"]) > MOST_DIMENSIONS:
            raise FileFormatError(
                f"{where}: tensor {quoted(name)} has {len(view['shape'])} dimensions. Expected at "
                f"most {MOST_DIMENSIONS}."
            )
        if view["dtype"] not in TYPES:
            raise FileFormatError(
                f"{where}: tensor {quoted(name)} has type {view['dtype']}. Expected one of "
                f"{', '.join(TYPES)}."
            )
        kind = np.dtype(TYPES[view["dtype"]]).newbyteorder("<")
        flat = np.frombuffer(view["data"], kind)
        if kind == np.bool_ and flat.view(np.uint8).max(initial=0) > 1:
            raise FileFormatError(
                f"{where}: tensor {quoted(name)} has values other than true and false."
            )
        try:
            arrays[name] = flat.astype(kind.newbyteorder("=")).reshape(view["shape"])
        except (ValueError, OverflowError):  # an empty array, one of whose sides is endless
            raise FileFormatError(
                f"{where}: tensor {quoted(name)} has the shape {show(view['shape'])}."
            ) from None
    return arrays


def _check_names(found: set[str], expected: set[str], where: str) -> None:
    for problem, names in (("is missing", expected - found), ("is unknown", found - expected)):
        if names:
            raise FileFormatError(
                f"{where}: tensor {quoted(min(names))} {problem}. "
                f"Expected exactly {', '.join(sorted(expected))}."
            )


def _checksum(facts: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    """Hashes the contents in an order that does not depend on the file."""
    digest = hashlib.sha256(_compact(dict(sorted(facts.items()))).encode())
    for name in sorted(tensors):
        array = tensors[name]
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(_compact([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
