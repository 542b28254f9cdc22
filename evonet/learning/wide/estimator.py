"""What scikit-learn expects of an estimator, without needing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from evonet.errors import OptionError
from evonet.messages import did_you_mean


class Estimator:
    """Arguments of the constructor as parameters, by name."""

    _estimator_type = "classifier"

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the arguments of the constructor by name; `deep` changes nothing here."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Changes arguments of the constructor, for the next fit.

        Raises:
            OptionError: There is no such argument.
        """
        names = self._names()
        for name, value in params.items():
            if name not in names:
                raise OptionError(
                    f"{name!r} is not a parameter of {type(self).__name__}. "
                    f"{did_you_mean(name, names)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=False),
            transformer_tags=None,
            # Labels may be many, but predictions are classes and never an indicator matrix, which
            # scikit-learn would expect.
            classifier_tags=ClassifierTags(multi_label=False),
            regressor_tags=None,
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def not_fitted(name: str) -> Exception:
    """The error for an estimator that has seen nothing: scikit-learn's, where it is installed."""
    message = f"This {name} instance is not fitted yet. Call fit first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return OptionError(message)
    error: Exception = NotFittedError(message)
    return error
