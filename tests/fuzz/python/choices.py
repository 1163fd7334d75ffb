"""Bytes as a sequence of choices. What is asked for beyond the last byte is zero, so that every input is one."""

import json
import struct

#: Values that code breaks at.
ODD = (None, True, False, 0, -1, 2**31, 2**63, 10**30, -0.0, 1e-320, 1e308, 0.5, "", "a", "\x00", "é", "\ud800", [], {})


class Choices:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def rest(self) -> bytes:
        return self._data[self._at :]

    def below(self, n: int) -> int:
        """One of 0..n, for n up to 65536."""
        return (self.byte() if n <= 256 else self.byte() << 8 | self.byte()) % n

    def pick(self, values):
        return values[self.below(len(values))]

    def double(self) -> float:
        if self.byte() < 200:
            return (self.byte() - 128) / 16
        return struct.unpack("<d", bytes(self.byte() for _ in range(8)))[0]

    def value(self):
        """Any value of JSON, small and odd."""
        kind = self.byte()
        if kind < 128:
            return self.pick(ODD)
        if kind < 192:
            number = self.double()
            return number if number - number == 0 else 0.0
        return [self.pick(ODD), self.pick(ODD)] if kind < 224 else {"name": self.pick(ODD), "values": self.pick(ODD)}


def edited(tree, choices: Choices):
    """Return a copy of a JSON tree with one to three places changed, dropped, added or moved."""
    tree = json.loads(json.dumps(tree))
    for _ in range(1 + choices.below(3)):
        places = list(_places(tree))
        if not places:
            return tree
        inside, key = places[choices.below(len(places))]
        kind = choices.below(8)
        if kind == 0:
            del inside[key]
        elif kind == 1 and isinstance(inside, dict):
            inside[choices.pick(("name", "type", "another", "values", ""))] = choices.value()
        elif kind == 2 and isinstance(inside, list):
            inside.insert(key, inside[key])
        elif kind == 3:
            elsewhere, other = places[choices.below(len(places))]
            inside[key] = json.loads(json.dumps(elsewhere[other]))
        elif kind == 4 and isinstance(inside[key], str):
            inside[key] += chr(choices.byte())
        elif kind == 5 and type(inside[key]) in (int, float):
            inside[key] = inside[key] * choices.pick((-1, 0, 2, 0.5, 1e300, 1.0000000000000002))
        else:
            inside[key] = choices.value()
    return tree


def _places(tree):
    """All values of a tree, as where they are and by what key."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])
