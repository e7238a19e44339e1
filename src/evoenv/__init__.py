"""EvoEnv: a language model writes the Python environments that train it.

Importing this package is cheap on purpose: `torch` and friends are loaded by the parts that need them.
"""

from evoenv.environment.base import VerifiableEnvironment

__version__ = "0.1.0"
__all__ = ["VerifiableEnvironment", "__version__"]
