"""Steps as a register program, for the interpreter in `kernels/native/program_rows.h`.

Every register is a row of numbers, so an instruction costs its dispatch once per row. Register 0
holds x and register 1 the count. Operands from `FIRST_CONSTANT` on are constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evonet.functions.expressions.steps import BINARY, REDUCTIONS, UNARY, ExpressionSteps

# In the order of `enum Operation` in kernels/native/program.h.
OPERATIONS: Final = ("copy", *UNARY, *BINARY, "if", *REDUCTIONS)
NUM_REGISTERS: Final = 40
FIRST_CONSTANT: Final = 256
INPUTS: Final = {"x": 0, "count": 1}


@dataclass(frozen=True)
class Program:
    """Instructions and their constants."""

    # Operation, target and up to three operands of each instruction, [n, 5].
    code: NDArray[np.uint16]
    constants: NDArray[np.float64]  # the constants, [m]
    # The ends of all sections: for each pass the steps before it, the steps for every link and the
    # reductions; then the last steps.
    bounds: NDArray[np.int32]
    result: int  # the register of the result


def assemble(steps: ExpressionSteps) -> Program:
    """Assigns a register to every step; raises ValueError if there are too few."""
    return _Assembler(steps).assemble()


class _Assembler:
    def __init__(self, steps: ExpressionSteps) -> None:
        self._steps = steps
        self._place: dict[int, int] = {}  # the operand of every step that has one
        self._constants: list[float] = []
        self._code: list[tuple[int, ...]] = []
        self._free = list(range(NUM_REGISTERS - 1, len(INPUTS) - 1, -1))
        self._last_use = self._find_last_uses()

    def assemble(self) -> Program:
        bounds, result = [], 0
        for number, each in enumerate(self._steps.passes):
            self._add(each.before, 3 * number)
            bounds.append(len(self._code))
            # Reductions live through the whole pass.
            for position in each.reductions:
                self._place[position] = self._take()
            self._add(each.each, 3 * number + 1)
            joined = [
                self._in_register(self._place[self._steps.steps[position].args[0]])
                for position in each.reductions
            ]
            if self._steps.terms and each is self._steps.passes[-1]:
                result = self._in_register(self._place[self._steps.result])
            bounds.append(len(self._code))
            for position, operand in zip(each.reductions, joined, strict=True):
                self._emit(position, [operand])
            bounds.append(len(self._code))
            self._release(3 * number + 2)
        self._add(self._steps.last, 3 * len(self._steps.passes))
        if not self._steps.terms or not self._steps.passes:
            result = self._in_register(self._place[self._steps.result])
        bounds.append(len(self._code))
        return Program(
            np.array(self._code, np.uint16).reshape(-1, 5),
            np.array(self._constants, np.float64),
            np.array(bounds, np.int32),
            result,
        )

    def _sections(self) -> Iterable[list[int]]:
        for each in self._steps.passes:
            yield from (each.before, each.each, each.reductions)
        yield self._steps.last

    def _find_last_uses(self) -> dict[int, tuple[int, int]]:
        """The section, and the place in it, where each step is needed last.

        A value from before a pass is needed by every link, so it lives to the end of the pass.
        """
        uses: dict[int, tuple[int, int]] = {self._steps.result: (1 << 30, 0)}
        born: dict[int, int] = {}
        for section, positions in enumerate(self._sections()):
            for place, position in enumerate(positions):
                born[position] = section
                for arg in self._steps.steps[position].args:
                    last = section, place
                    if section % 3 and section < 3 * len(self._steps.passes):
                        inside = born[arg] == section
                        last = last if inside else (section - section % 3 + 2, 1 << 30)
                    uses[arg] = max(uses.get(arg, last), last)
        return uses

    def _add(self, positions: list[int], section: int) -> None:
        for place, position in enumerate(positions):
            step = self._steps.steps[position]
            if step.op in INPUTS:
                self._place[position] = INPUTS[step.op]
            elif step.op == "number":
                self._place[position] = FIRST_CONSTANT + len(self._constants)
                self._constants.append(step.value)
            else:
                operands = [self._place[arg] for arg in step.args]
                # An instruction reads before it writes: its target may be one of its operands.
                self._free_dead(step.args, (section, place))
                self._place[position] = self._take()
                self._emit(position, operands)
                self._free_dead((position,), (section, place))

    def _emit(self, position: int, operands: list[int]) -> None:
        filled = operands + [operands[0]] * (3 - len(operands))
        op = OPERATIONS.index(self._steps.steps[position].op)
        self._code.append((op, self._place[position], *filled))

    def _in_register(self, operand: int) -> int:
        """Copies a constant into a register, where an instruction cannot read constants."""
        if operand < FIRST_CONSTANT:
            return operand
        register = self._take()
        self._code.append((OPERATIONS.index("copy"), register, operand, operand, operand))
        return register

    def _take(self) -> int:
        if not self._free:
            raise ValueError("needs too many values at a time. Split it over several nodes.")
        return self._free.pop()

    def _free_dead(self, positions: Iterable[int], now: tuple[int, int]) -> None:
        for position in dict.fromkeys(positions):
            if self._last_use.get(position, (0, 0)) <= now:
                self._give_back(position)

    def _release(self, section: int) -> None:
        for position in list(self._place):
            if self._last_use.get(position, (0, 0)) <= (section, 1 << 30):
                self._give_back(position)

    def _give_back(self, position: int) -> None:
        register = self._place.get(position, 0)
        if len(INPUTS) <= register < FIRST_CONSTANT and register not in self._free:
            self._free.append(register)
        self._place.pop(position, None)
