"""What stands for something long, wherever two of them are compared."""

from __future__ import annotations


def digest(*parts: bytes) -> str:
    import hashlib  # which takes longer to load than short questions take to answer

    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little") + part)
    return whole.hexdigest()
