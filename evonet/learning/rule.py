"""What a lesson's optimiser does in each step, in the form that backends take."""

from __future__ import annotations

import numpy as np

from evonet.backends.learning import OPTIMIZERS, UpdateRule
from evonet.learning.lesson import Lesson


def update_rule(lesson: Lesson, first: int, end: int) -> UpdateRule:
    """The rule of a lesson for the steps from `first` to `end`, numbered from 0."""
    beta1, beta2 = lesson.betas
    steps = range(first + 1, end + 1)
    means = [lesson.rate / (1 - _power(beta1, step)) for step in steps]
    squares = [1 / (1 - _power(beta2, step)) for step in steps]
    return UpdateRule(
        OPTIMIZERS.index(lesson.optimizer),
        lesson.rate,
        lesson.momentum,
        beta1,
        beta2,
        lesson.epsilon,
        lesson.decay,
        lesson.clip,
        (lesson.weights, lesson.biases, lesson.responses),
        np.ascontiguousarray(np.array([means, squares]).T),
    )


def _power(base: float, exponent: int) -> float:
    """base^exponent by squaring: libm's pow differs between machines."""
    power = 1.0
    while exponent:
        if exponent & 1:
            power *= base
        base *= base
        exponent >>= 1
    return power
