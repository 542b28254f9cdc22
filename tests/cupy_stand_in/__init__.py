"""A stand-in for CuPy, for tests of the GPU backend where there is no GPU.

    machine = cupy_stand_in.install(monkeypatch, num_devices=2)
    network = evonet.compile(population, backend="cuda")

It has the few names of CuPy that evonet uses (`names.txt`, checked against the real package),
keeps device arrays apart from host arrays as strictly as CuPy does, runs copies and kernels as late
as streams and events allow, and executes them on the SIMT runner. What it cannot show: the driver's
behaviour, speed, and whether the real CuPy takes these names' arguments as the stand-in does.
"""

from .array import Array
from .machine import Machine
from .package import install, make_package
from .streams import PACES

__all__ = ["PACES", "Array", "Machine", "install", "make_package"]
