"""Learning by gradients: lessons, and learners that carry them out for whole populations."""

from evonet.learning.learner import Learned, Learner, learn
from evonet.learning.lesson import Lesson

__all__ = ["Learned", "Learner", "Lesson", "learn"]
