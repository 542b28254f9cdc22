"""Deep sparse layered networks: the Sparse DNN Graph Challenge, pruned models, radix networks.

radix   generates the challenge's networks
files   reads its folders and pruned models, and a binary cache of our own
inputs  reads its images, or makes some of scikit-learn's digits
run     evaluates one network on many samples, and counts what that took
"""

from evonet.layered.files import load_layers, load_pruned, read_challenge, save_layers
from evonet.layered.inputs import challenge_digits, read_inputs
from evonet.layered.radix import radix_layers
from evonet.layered.run import LayeredNetwork, LayeredResult

__all__ = [
    "LayeredNetwork",
    "LayeredResult",
    "challenge_digits",
    "load_layers",
    "load_pruned",
    "radix_layers",
    "read_challenge",
    "read_inputs",
    "save_layers",
]
