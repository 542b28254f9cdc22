"""As much of Ray as evonet uses, in one thread: actors are objects, answers come at once.

`plan` decides what happens to calls: it is given the actor's number and the method, and returns
None, or an error to raise instead of an answer.
"""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable
from typing import Any


class RayError(Exception): ...


class RayActorError(RayError): ...


class RaySystemError(RayError): ...


class RpcError(RayError): ...


class Ref:
    """An answer, or an object in the store."""

    def __init__(self, value: Any) -> None:
        self.value = value


class StandIn(types.SimpleNamespace):
    """Takes the place of the module."""

    def __init__(self, cores: tuple[int, ...] = (2,)) -> None:
        super().__init__()
        self.plan: Callable[[int, str], Exception | None] = lambda actor, method: None
        self.exceptions = types.SimpleNamespace(
            RayError=RayError,
            RayActorError=RayActorError,
            RaySystemError=RaySystemError,
            RpcError=RpcError,
        )
        self.cloudpickle = types.SimpleNamespace(
            dumps=pickle.dumps,
            register_pickle_by_value=lambda module: None,
            unregister_pickle_by_value=lambda module: None,
        )
        self.util = types.SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")
        self.started: list[dict[str, Any]] = []
        self.killed: list[Any] = []
        self.stored: list[Any] = []
        self.is_on = False
        self.dashboard: str | None = None
        self.answers = True
        self._cores = cores

    def is_initialized(self) -> bool:
        return self.is_on

    def init(self, **options: Any) -> Any:
        self.options = options
        if "nowhere" in str(options.get("address")):
            raise ConnectionError("nobody\nanswers")
        self.is_on = True
        return types.SimpleNamespace(dashboard_url=self.dashboard)

    def shutdown(self) -> None:
        self.is_on = False

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"Alive": True, "NodeID": str(i), "Resources": {"CPU": cores}}
            for i, cores in enumerate(self._cores)
        ]

    def put(self, value: Any) -> Ref:
        self.stored.append(value)
        return Ref(value)

    def wait(self, refs: list[Ref], num_returns: int = 1, timeout: Any = None) -> Any:
        if not self.answers:
            return [], refs
        return refs[:num_returns], refs[num_returns:]

    def get(self, ref: Ref) -> Any:
        value = ref.value()
        if isinstance(value, Exception):
            raise value
        return value

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)

    def remote(self, kind: type) -> Any:
        def start(options: dict[str, Any]) -> Callable[..., Any]:
            def make(*arguments: Any) -> Any:
                self.started.append(options)
                number = len(self.started) - 1
                made = kind(*arguments)

                def method(name: str) -> Any:
                    def call(*given: Any) -> Ref:
                        def answer() -> Any:
                            error = self.plan(number, name)
                            if error is not None:
                                return error
                            plain = [g.value if isinstance(g, Ref) else g for g in given]
                            return getattr(made, name)(*plain)

                        return Ref(answer)

                    return types.SimpleNamespace(remote=call)

                return types.SimpleNamespace(prepare=method("prepare"), work=method("work"))

            return make

        return types.SimpleNamespace(
            options=lambda **options: types.SimpleNamespace(remote=start(options))
        )
