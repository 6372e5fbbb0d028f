"""Types and other entries of DWARF, as names and sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

_TRANSPARENT = (
    "DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type", "DW_TAG_restrict_type",
)  # fmt: skip
_POINTERS = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
RECORDS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")


def ranges(dwarf: Any, die: Any) -> Iterator[tuple[int, int]]:
    """The code of a function, a block or an inlined call."""
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes:
        begin, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield begin, high.value if high.form == "DW_FORM_addr" else begin + high.value
    elif "DW_AT_ranges" in attributes:
        lists = dwarf.range_lists()
        base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
        offset = 0 if base is None else base.value
        for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=die.cu):
            if hasattr(entry, "base_address"):
                offset = entry.base_address
            elif getattr(entry, "is_absolute", False):
                yield entry.begin_offset, entry.end_offset
            else:
                yield offset + entry.begin_offset, offset + entry.end_offset


def declared(die: Any) -> Any:
    """Where the name and type of a function or variable are said, if elsewhere."""
    for attribute in ("DW_AT_specification", "DW_AT_abstract_origin"):
        if attribute in die.attributes:
            return declared(die.get_DIE_from_attribute(attribute))
    return die


def name_of(die: Any) -> str:
    name = die.attributes.get("DW_AT_name")
    return os.fsdecode(name.value) if name is not None else ""


def type_of(die: Any) -> Any:
    """The type behind typedefs and qualifiers."""
    while die is not None and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag not in _TRANSPARENT:
            return die
    return None


def size_of(die: Any) -> int:
    if die is None:
        return 0
    if "DW_AT_byte_size" in die.attributes:
        return int(die.attributes["DW_AT_byte_size"].value)
    if die.tag == "DW_TAG_array_type":
        size = size_of(type_of(die))
        for count in _counts(die):
            size *= count
        return size
    return 8 if die.tag in _POINTERS else 0


def _counts(array: Any) -> Iterator[int]:
    for child in array.iter_children():
        if child.tag != "DW_TAG_subrange_type":
            continue
        if "DW_AT_count" in child.attributes:
            yield int(child.attributes["DW_AT_count"].value)
        elif "DW_AT_upper_bound" in child.attributes:
            yield int(child.attributes["DW_AT_upper_bound"].value) + 1
        else:
            yield 1


def path_to(die: Any, offset: int, size: int | None) -> str:
    """Fields and indices down to the part of a type at an offset: of a size, an object that is no data (0), or the
    largest that begins there (None). The parts of standard types (``_M_…``, ``__…``) say nothing to a person and are
    left out."""
    if die is None or (size is None and offset == 0):
        return ""
    if size and offset == 0 and size_of(die) == size and die.tag not in RECORDS:
        return ""
    if die.tag in RECORDS:
        for member in die.iter_children():
            placed = die.tag == "DW_TAG_union_type" or "DW_AT_data_member_location" in member.attributes
            if member.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or not placed:
                continue
            at = member.attributes.get("DW_AT_data_member_location")
            start = int(at.value) if at is not None and isinstance(at.value, int) else 0
            kind = type_of(member)
            if start <= offset < start + max(size_of(kind), 1):
                name = name_of(member)
                if size == 0 and (name or "").startswith("_"):
                    return ""  # an object, such as a semaphore, which is a whole to those who use it
                shown = "" if not name or name.startswith("_") or member.tag == "DW_TAG_inheritance" else f".{name}"
                return shown + path_to(kind, offset - start, size)
        return ""
    if die.tag == "DW_TAG_array_type":
        element = type_of(die)
        width = size_of(element)
        if width == 0:
            return ""
        counts = list(_counts(die))
        index, rest = divmod(offset, width)
        indices = []
        for count in reversed(counts[1:]):
            index, last = divmod(index, count)
            indices.append(last)
        indices.append(index)
        return "".join(f"[{i}]" for i in reversed(indices)) + path_to(element, rest, size)
    return f"+{offset}" if size and 0 < offset < size_of(die) else ""  # a part of a scalar
