"""Reads PTX for instructions whose results a CPU does not reproduce to the last bit.

An allow-list: what it does not name is a fault. So `expf`, which becomes `ex2.approx`, and a double
literal, which turns float arithmetic into double without a word, cannot slip into a kernel.
"""

from __future__ import annotations

import re
import struct

INTEGER = r"\.(?:s|u|b)(?:8|16|32|64)"
ALLOWED = re.compile(
    rf"""(?:
      (?:add|sub|mul|div|fma|rcp|sqrt)\.rn\.f(?:32|64)
    | (?:neg|abs|mov|testp\.\w+)\.f(?:32|64)
    | (?:min|max)\.f(?:32|64)                       # see needs_constant
    | setp\.(?:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)\.f(?:32|64)
    | selp\.(?:f(?:32|64)|b16|b32|b64|{INTEGER[2:]})
    | cvt\.rn\.f(?:32|64){INTEGER}                   # an integer becomes the nearest number
    | cvt\.rn\.f32\.f64 | cvt\.f64\.f32
    | cvt{INTEGER}{INTEGER}
    | (?:add|sub|neg|not|and|or|xor|min|max|abs|shl|shr|div|rem|mov|popc|bfe|bfi|slct){INTEGER}
    | (?:mul|mad)\.(?:lo|hi|wide){INTEGER} | (?:min|max)\.relu\.s32
    | (?:add|addc|sub)\.cc{INTEGER} | shf\.\w+\.\w+{INTEGER} | prmt\.b32 | lop3\.b32
    | setp\.\w+{INTEGER} | setp\.\w+\.(?:and|or){INTEGER}
    | (?:and|or|xor|not|mov)\.pred
    | ld(?:\.(?:param|local|shared|global|global\.nc|const))?(?:\.v[24])?\.(?:f(?:32|64)|[sub]\d+)
    | st(?:\.(?:local|shared|global))?(?:\.v[24])?\.(?:f(?:32|64)|[sub]\d+)
    | cvta(?:\.to)?\.(?:global|shared|local|const)\.u64
    | bra(?:\.uni)? | brx\.idx | ret
    | bar\.sync | barrier\.sync | bar\.warp\.sync
    | (?:shfl|vote|activemask|match)[\w.]*\.(?:b32|pred)
    # Of integers, whose order does not matter; cas enters keys into tables.
    | atom(?:\.relaxed\.gpu)?(?:\.(?:global|shared))?
      \.(?:add\.u64|(?:min|max)\.s64|(?:add|min|max|or|exch|cas)\.[sub]32)
    | brev\.b32 | bfind\.shiftamt\.u32
    )""",
    re.VERBOSE,
)
ARITHMETIC = re.compile(r"(?:add|sub|mul|div|fma|rcp|sqrt|min|max)\b.*\.f(?:32|64)")
# Declarations and labels start with a dot or a dollar sign.
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.]*)\s*([^;]*);", re.MULTILINE)


def find_faults(
    ptx: str, real: str | None, *, counts: bool = False, draws: bool = False
) -> list[str]:
    """Lists what breaks the rules, with the line.

    Args:
        ptx: What NVRTC made.
        real: "float" or "double": the type that the kernel computes with; None for one that only
            converts.
        counts: Whether it turns floats that are small counts into whole numbers.
        draws: Whether it draws random numbers, which are float32 whatever it computes with.
    """
    faults = []
    found = list(INSTRUCTION.finditer(ptx))
    if not found:
        return ["there is no instruction"]
    for match in found:
        opcode, operands = match[1], match[2]
        fault = _fault(opcode, operands, "both" if draws and real == "double" else real)
        if fault and not (counts and opcode == "cvt.rzi.s32.f32"):
            line = ptx.count("\n", 0, match.start(1)) + 1
            faults.append(f"line {line}: {opcode} {operands.strip()}: {fault}")
    return faults


def _fault(opcode: str, operands: str, real: str | None) -> str | None:
    if not ALLOWED.fullmatch(opcode):
        return "not on the list"
    if real is None and ARITHMETIC.fullmatch(opcode):
        return "arithmetic in a kernel that only converts"
    if real == "float" and ".f64" in opcode:
        return "double arithmetic in a float kernel"
    if real == "double" and re.search(r"\.f32\b", opcode):
        return "float arithmetic in a double kernel"
    if re.fullmatch(r"(min|max)\.f(32|64)", opcode):
        return _needs_constant(opcode, operands)
    return None


def _needs_constant(opcode: str, operands: str) -> str | None:
    """`x < limit ? x : limit` is min only if the limit is no NaN, and zeros fall out right."""
    literal = re.search(r"0([fd])([0-9A-F]+)$", operands.strip())
    if not literal:
        return "both operands may be NaN or zeros of either sign"
    code = "<I" if literal[1] == "f" else "<Q"
    bits = int(literal[2], 16)
    limit = struct.unpack(code.lower().replace("i", "f").replace("q", "d"), struct.pack(code, bits))
    if limit[0] != limit[0]:
        return "a limit that is NaN"
    if limit[0] == 0 and (bits == 0) == opcode.startswith("min"):
        return "the limit is the zero that a comparison would not prefer"
    return None
