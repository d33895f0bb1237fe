"""Prints the licences of all crates in the program, with the texts that they bring, and those of the C libraries in them.

    list.py TARGET
"""

import json
import pathlib
import subprocess
import sys

told = subprocess.run(
    ["cargo", "metadata", "--format-version=1", "--locked", "--features=dist", f"--filter-platform={sys.argv[1]}"],
    check=True, capture_output=True, text=True,
)
metadata = json.loads(told.stdout)
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
# What is only compiled or run while sweep is built or tested is not in the program; crates of C libraries are built by build scripts.
linked, to_see = set(), [metadata["resolve"]["root"]]
while to_see:
    here = to_see.pop()
    if here not in linked:
        linked.add(here)
        to_see += [it["pkg"] for it in nodes[here]["deps"] if any(kind["kind"] != "dev" for kind in it["dep_kinds"])]
texts = {}
for package in sorted((it for it in metadata["packages"] if it["id"] in linked and it["source"]), key=lambda it: it["name"]):
    print(f"{package['name']} {package['version']}: {package['license']}. {package['repository'] or ''}")
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [it for it in [*folder.glob("*"), *folder.glob("*/*")] if it.is_file()]
    for file in sorted(files):
        if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE")):
            texts.setdefault(file.read_text(errors="replace").strip(), []).append(package["name"])
for text, names in texts.items():
    print(f"\n{'=' * 80}\nOf {', '.join(sorted(set(names)))}\n\n{text}")
