"""Write python/THIRD-PARTY-LICENSES.md: the crates of Cargo.lock, their licences, and the texts of those in wheels.

``python .ci/third_party_licenses.py``, after every change of Cargo.lock. It asks ``cargo metadata``, which builds
nothing, and reads the licence files of the crates that cargo has unpacked. A test compares the page with Cargo.lock.
"""

import json
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "python/THIRD-PARTY-LICENSES.md"
#: How files that hold a licence, or a notice that goes with it, begin.
NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT")

HEAD = """# Licences of the Rust crates

dpsparse's own licence stands in `LICENSE-MIT` and `LICENSE-APACHE`. The crates below are those of `Cargo.lock`; a wheel
holds code of those that are marked, on some platform. Where a crate may be used under one of several licences, MIT
among them, it is used under MIT. Written by `python .ci/third_party_licenses.py`.
"""


def metadata():
    """Return what cargo knows of the crates of Cargo.lock."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def linked(resolve):
    """Return the ids of the crates that are part of the library, neither for tests nor for building alone."""
    nodes = {node["id"]: node["deps"] for node in resolve["nodes"]}
    found, waiting = set(), [resolve["root"]]
    while waiting:
        for dependency in nodes[waiting.pop()]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return found


def texts(crate):
    """Return the licence texts beside a crate's manifest: that of MIT alone where it may be taken."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES))
    mit = [path for path in files if "MIT" in path.name.upper()]
    taken = mit if mit and " AND " not in crate["license"] else files
    return ["\n".join(line.rstrip() for line in path.read_text().strip().splitlines()) for path in taken]


def main():
    """Write the page."""
    found = metadata()
    inside = linked(found["resolve"])
    crates = sorted((c for c in found["packages"] if c["source"]), key=lambda c: (c["name"], c["version"]))
    rows = ["| crate | version | licence | in wheels |", "|---|---|---|---|"]
    shown, owners = {}, defaultdict(list)
    for crate in crates:
        mark = "yes" if crate["id"] in inside else ""
        rows.append(f"| {crate['name']} | {crate['version']} | {crate['license']} | {mark} |")
        for text in texts(crate) if mark else ():
            words = " ".join(text.split())  # copies differ in their line breaks
            shown.setdefault(words, text)
            owners[words].append(crate["name"])
    parts = [HEAD, "\n".join(rows) + "\n", "## Texts\n"]
    for words, names in sorted(owners.items(), key=lambda item: item[1]):
        parts.append(f"### {', '.join(sorted(set(names)))}\n\n````text\n{shown[words]}\n````\n")
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
