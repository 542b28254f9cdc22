"""Checks an installed evonet from outside its checkout: backend, resources, one evaluation."""

import sys
import warnings

import numpy as np

expected = sys.argv[1]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import evonet
    from evonet.installation import resource_folder

    population = evonet.Population.random(5, 3, 2, num_nodes=6, num_connections=12)
    networks = [evonet.compile(population) for _ in range(2)]

assert networks[0].backend == expected, networks[0].backend
assert networks[0](np.ones((4, 3))).shape == (5, 4, 2)
assert "site-packages" in evonet.__file__, evonet.__file__
assert (resource_folder("kernels") / "nodes" / "activations.h").is_file()
assert (resource_folder("kernels") / "cuda" / "forward_levels.cu").is_file()
assert (resource_folder("configs") / "forward.toml").is_file()
said = [str(w.message) for w in caught if "compiled extension" in str(w.message)]
assert len(said) == (expected == "reference"), said
print(f"evonet {evonet.__version__} runs on {expected}")
