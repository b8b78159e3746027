"""Named randomness: every random number belongs to a purpose and a person, never to a global seed.

A person is a lineage path (episode 17, root 3, child 2, child 1) folded into one 64-bit key. What chance has in store
for that person is a function of the key and of the purpose ("capacity", "offspring", ...), so the same person has the
same luck under every policy, and adding a person, a policy or a worker changes nobody else's draws.

The numbers are those of SplitMix64 (Steele, Lea and Flood 2014): for each person a stream whose state starts at
mix(key xor purpose) and advances by the golden ratio, evaluated for an array of people at once. A NumPy generator per
person would cost 15 microseconds each; here a uniform costs a few nanoseconds.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peerfront.foundation.checked_calls import checked
from peerfront.foundation.errors import SettingError

Keys = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROOT = np.uint64(0xD1B54A32D192ED03)
_UNIT = 2.0**-52


def named_key(*names: str | int) -> int:
    """A 64-bit key for a sequence of names, the same on every machine and in every version of Python.

    Whole numbers of any kind are one name: NumPy's 3 and Python's 3 give the same luck.
    """
    plain = (int(name) if isinstance(name, np.integer) else name for name in names)
    text = "\x1f".join(f"{type(name).__name__}:{name}" for name in plain)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=1024)
def _purpose_key(purpose: str) -> np.uint64:
    return np.uint64(named_key("purpose", purpose))


def _mix(bits: Keys) -> Keys:
    """The finaliser of SplitMix64: a bijection of 64-bit words in which every input bit reaches every output bit."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def fold(keys: Keys, ordinals: NDArray[np.integer]) -> Keys:
    """Keys of the members `ordinals` of the lineages `keys` (broadcast): root i of an episode, child j of a parent."""
    steps = (np.asarray(ordinals).astype(np.uint64) + np.uint64(1)) * _GOLDEN
    return _mix(_mix(keys ^ _ROOT) + steps)


@dataclass(frozen=True, slots=True)
class Luck:
    """What chance has in store for each of some people (or episodes): row i belongs to `keys[i]`."""

    keys: Keys  # [people]

    def __len__(self) -> int:
        return len(self.keys)

    def check(self, people: int) -> None:
        """Refuse anything but one luck for each person: a single one would silently be everybody's."""
        if len(self) != people:
            raise SettingError("luck.uneven", rows=people, lucks=len(self))

    def uniforms(self, purpose: str, columns: int) -> NDArray[np.float64]:
        """Uniforms strictly between 0 and 1, [people, columns]. More columns never change the earlier ones."""
        start = _mix(self.keys ^ _purpose_key(purpose))
        steps = np.arange(1, columns + 1, dtype=np.uint64) * _GOLDEN
        bits = _mix(start[:, None] + steps[None, :])
        # 52 bits and a half: the largest is 1 - 2^-53, so u * n rounds to n for no n.
        uniforms: NDArray[np.float64] = ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * _UNIT
        return uniforms

    def uniform(self, purpose: str) -> NDArray[np.float64]:
        """One uniform each, [people]."""
        return self.uniforms(purpose, 1)[:, 0]

    def members(self, ordinals: NDArray[np.integer]) -> "Luck":
        """The luck of member `ordinals[i]` of lineage i."""
        return Luck(fold(self.keys, ordinals))

    def row(self, index: int) -> "Luck":
        """The luck of one of them alone."""
        return Luck(self.keys[index : index + 1])

    def generator(self, purpose: str) -> np.random.Generator:
        """A NumPy generator for this luck, for code that wants one; slower to make (15 us) than `uniforms`."""
        return np.random.Generator(np.random.Philox(key=[*(int(key) for key in self.keys[:1]), named_key(purpose)]))


@checked
def named_luck(names: tuple[str | int, ...], size: int) -> Luck:
    """The luck of members 0 .. size - 1 of what the names stand for, for example the episodes of a comparison.

    >>> luck = pf.named_luck(("my study", 7), 3)
    >>> len(luck), bool((luck.uniform("weather") == pf.named_luck(("my study", 7), 3).uniform("weather")).all())
    (3, True)
    """
    root = np.full(1, named_key(*names), dtype=np.uint64)
    return Luck(fold(root, np.arange(size)))


def named_generator(*names: str | int) -> np.random.Generator:
    """A NumPy generator that belongs to these names, for bulk draws that belong to nobody in particular."""
    return np.random.Generator(np.random.Philox(key=[named_key(*names), 0]))
