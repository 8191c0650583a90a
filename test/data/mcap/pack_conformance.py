"""Packs Foxglove's conformance files. In their repository (foxglove/mcap, tests/conformance), the files are Git LFS pointers, so their generator must write
them again. A file is packed only if it has the SHA-256 in its pointer. Usage: python pack_conformance.py FOLDER_OF_THE_GENERATOR tests/conformance/data"""

import hashlib
import os
import re
import sys
import zipfile

made, stated = sys.argv[1:]
with zipfile.ZipFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for folder, _, names in sorted(os.walk(stated)):
        for name in sorted(names):
            path = os.path.join(os.path.relpath(folder, stated), name)
            with open(os.path.join(made if name.endswith(".mcap") else stated, path), "rb") as file:
                data = file.read()
            if name.endswith(".mcap"):
                with open(os.path.join(stated, path)) as file:
                    assert re.search(r"sha256:(\w+)", file.read()).group(1) == hashlib.sha256(data).hexdigest(), path
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)
