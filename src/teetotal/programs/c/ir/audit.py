"""An independent look at whether every access that others may see has its hook: by the optimiser.

A module is written once more with calls of functions that nobody knows in the place of all accesses that get hooks, and
optimised. What the optimiser then leaves of loads, stores and atomic operations must be in a local of its own function, in
a constant, or in the record of a frame; it has its own idea of which address can be which, and of what escapes. Here it
found what reading alone did not: copies by value, coroutines, library calls that become stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from teetotal.programs.c.compilers import run
from teetotal.programs.c.ir.accesses import Hooks
from teetotal.programs.c.ir.emitting import tail
from teetotal.programs.c.ir.operands import Access
from teetotal.programs.c.ir.reading import Function, Instruction, Module
from teetotal.programs.c.ir.seeing import Seeing, accessed
from teetotal.programs.c.ir.writing import write

_OPTIMISED = ("-O1", "-fPIC", "-Wno-override-module", "-Qunused-arguments", "-S", "-emit-llvm")


class OpaqueHooks(Hooks):
    """Instead of an access, a call of a function that takes its address and gives, or is given, its value."""

    def access(self, instruction: Instruction, told: Access) -> None:
        emitter, pointer = self.emitter, told.pointer
        kinds = [one.type.text for one in (pointer, told.expected, told.value) if one is not None]
        values = [one.text for one in (pointer, told.expected, told.value) if one is not None]
        result = "void"
        if instruction.result:
            kind = self.seeing.types.of(instruction.result)
            assert kind is not None
            result = kind.text
        name = f"tt.audit.{len(emitter.declared)}"
        emitter.declare(name, result, ", ".join(kinds))
        given = f"{instruction.result} = " if instruction.result else ""
        emitter.replace(instruction, [f"  {given}call {result} @{name}({', '.join(values)}){tail(instruction)}"])


def left(text: str, clang: Sequence[str], stem: Path) -> list[str]:
    """The accesses in a module of IR that neither have a hook nor are anybody's own, each with its function."""
    opaque, optimised = stem.with_suffix(".opaque.ll"), stem.with_suffix(".optimised.ll")
    text = text.replace(
        "define available_externally ", "define linkonce_odr "
    )  # the optimiser would inline them as they are
    opaque.write_text(write(Module(text), OpaqueHooks).text, errors="surrogateescape")
    run([*clang, *_OPTIMISED, str(opaque), "-o", str(optimised)], str(stem))
    module = Module(optimised.read_text(errors="surrogateescape"))
    return [f"{function.name}: {one}" for function in module.functions for one in _left_in(module, function)]


def _left_in(module: Module, function: Function) -> Iterator[Instruction]:
    seeing = Seeing(module, function)
    for instruction in function.instructions:
        told = accessed(instruction)
        if told is not None and not _is_own(seeing, told.pointer.value, set()):
            yield instruction


def _is_own(seeing: Seeing, pointer: str, met: set[str]) -> bool:
    """Whether it can only be an address in a local, or in a constant."""
    if pointer in met:
        return True
    met.add(pointer)
    root = seeing.root(pointer)
    if root in seeing.memory or seeing.is_constant(pointer) or pointer in ("undef", "poison", "null"):
        return True
    instruction = seeing.function.defined.get(pointer)
    if instruction is None:
        return False
    if instruction.opcode in ("phi", "select"):
        return all(
            _is_own(seeing, one, met)
            for one in instruction.names
            if (kind := seeing.types.of(one)) is not None and kind.kind == "pointer"
        )
    if instruction.opcode in ("getelementptr", "bitcast", "freeze"):
        return _is_own(seeing, next(name for name in instruction.names if _is_pointer(seeing, name)), met)
    return False


def _is_pointer(seeing: Seeing, name: str) -> bool:
    kind = seeing.types.of(name)
    return kind is not None and kind.kind == "pointer"
