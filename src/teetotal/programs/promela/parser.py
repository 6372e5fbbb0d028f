"""Promela text to its syntax tree: a hand-written parser, so that each error names the line and what was expected.

Supported is the part that the classical algorithms need; everything else is refused by name. Calls of inlines are
replaced by their bodies here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from teetotal.answers.events import Kind, Location
from teetotal.programs.program import refuse_many
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.cursor import KEYWORDS, REFUSED, TYPES
from teetotal.programs.promela.expression_parser import ExpressionParser
from teetotal.programs.promela.folding import fold
from teetotal.programs.promela.lexer import LARGEST_EXPANSION, Token, tokens

INLINE_DEPTH = 50
MAX_PROCESSES = 255


def parse(text: str, file: str) -> s.Module:
    return _Parser(text, file).module()


class _Inline(msgspec.Struct, frozen=True):
    parameters: tuple[str, ...]
    body: tuple[Token, ...]


class _Parser(ExpressionParser):
    def __init__(self, text: str, file: str) -> None:
        super().__init__(tokens(text, file))
        self.file, self.text = file, text
        self.inlines: dict[str, _Inline] = {}
        self.depth = 0
        self.expanded = 0

    # -- the file -------------------------------------------------------------------------------------------------

    def module(self) -> s.Module:
        variables: list[s.Declaration] = []
        proctypes: list[s.Proctype] = []
        forbidden: list[s.Forbidden] = []
        while self.token.kind != "end":
            here = self.token.location
            if self.accept(";"):
                continue
            if self.token.text in REFUSED:
                self.refuse()
            if self.at("mtype") and self.tokens[self.position + 1].text in ("=", "{"):
                self.mtype()
            elif self.at("ghost", "hidden", "show", *TYPES):
                variables += self.declarations()
            elif self.at("active", "proctype"):
                proctypes.append(self.proctype())
            elif self.accept("init"):
                proctypes.append(s.Proctype(":init:", 1, (), self.braces(), here))
            elif self.accept("inline"):
                self.inline()
            elif self.accept("forbidden"):
                self.expect("(")
                name = self.name("a name for the property")
                self.expect(",")
                forbidden.append(s.Forbidden(name, self.expression(), here))
                self.expect(")")
            else:
                self.fail(f"expected a declaration, found {self.token.text!r}")
        self.distinct([p.name for p in proctypes], "proctype", [p.location for p in proctypes])
        self.distinct([v.name for v in variables], "variable", [v.location for v in variables])
        return s.Module(self.file, self.text, tuple(variables), self.mtypes, tuple(proctypes), tuple(forbidden))

    def distinct(self, names: list[str], what: str, places: list[Location]) -> None:
        seen: set[str] = set()
        for name, place in zip(names, places, strict=True):
            if name in seen:
                self.fail(f"{what} {name} is declared twice", place)
            seen.add(name)

    def mtype(self) -> None:
        """Numbered as SPIN does: the last one declared is the smallest."""
        self.next()
        self.accept("=")
        self.expect("{")
        names = [self.name("the name of a constant")]
        while self.accept(","):
            names.append(self.name("the name of a constant"))
        self.expect("}")
        first = len(self.mtypes)
        self.mtypes.update({name: first + len(names) - i for i, name in enumerate(names)})

    def proctype(self) -> s.Proctype:
        here = self.token.location
        active = 0
        if self.accept("active"):
            active = 1
            if self.accept("["):
                active = self.constant("the number of processes")
                if active > MAX_PROCESSES:
                    self.fail(f"more than {MAX_PROCESSES} processes", here)
                self.expect("]")
        self.expect("proctype")
        name = self.name("the name of the proctype")
        self.expect("(")
        parameters: list[s.Declaration] = []
        while not self.at(")"):
            parameters += self.declarations(parameters=True)
            if not self.accept(";", ","):
                break
        self.expect(")")
        if active and parameters:
            self.fail("an active proctype cannot have parameters: start it with run", here)
        return s.Proctype(name, active, tuple(parameters), self.braces(), here)

    def inline(self) -> None:
        name = self.name("the name of the inline")
        self.expect("(")
        parameters: list[str] = []
        while not self.at(")"):
            parameters.append(self.name("a parameter"))
            if not self.accept(","):
                break
        self.expect(")")
        start = self.position
        self.expect("{")
        depth = 1
        while depth:
            if self.token.kind == "end":
                self.fail(f"inline {name} is not closed")
            token = self.next()
            depth += (token.text == "{") - (token.text == "}")
        self.inlines[name] = _Inline(tuple(parameters), tuple(self.tokens[start : self.position]))

    def declarations(self, parameters: bool = False) -> list[s.Declaration]:
        ghost = False
        while self.at("ghost", "hidden", "show"):
            ghost |= self.next().text == "ghost"
        if not self.at(*TYPES):
            if self.token.text in REFUSED:
                self.refuse()
            self.fail(f"expected a type, found {self.token.text!r}")
        kind: Any = self.next().text
        result: list[s.Declaration] = []
        while True:
            here = self.token.location
            name = self.name("the name of a variable")
            size = initial = None
            if self.accept("["):
                size = self.constant("the size of the array")
                if size < 1:
                    self.fail("an array has at least one element", here)
                refuse_many(locations=size, location=here)
                self.expect("]")
            if not parameters and self.accept("="):
                initial = self.expression()
            result.append(s.Declaration(kind, name, size, initial, ghost, here))
            if parameters and self.at(",") and self.tokens[self.position + 1].text in TYPES:
                return result
            if not self.accept(","):
                return result

    def constant(self, what: str) -> int:
        here = self.token.location
        value = fold(self.expression())
        if not isinstance(value, s.Number):
            self.fail(f"{what} must be a constant", here)
        return value.value

    # -- statements -----------------------------------------------------------------------------------------------

    def braces(self) -> tuple[s.Statement, ...]:
        self.expect("{")
        body = self.sequence("}")
        self.expect("}")
        return body

    def sequence(self, *ends: str) -> tuple[s.Statement, ...]:
        body: list[s.Statement] = []
        while not self.at(*ends):
            if self.accept(";", "->"):
                continue
            statement = self.statement()
            closed = self.tokens[self.position - 1].text in ("}", "fi", "od")
            if not self.at(";", "->", *ends) and not closed:
                self.fail(f"expected ';' or {ends[-1]!r}, found {self.token.text!r}")
            span = statement.span._replace(first=not body, follows=self.follows(statement.span, *ends))
            body.append(msgspec.structs.replace(statement, span=span))
        return tuple(body)

    def follows(self, span: s.Span, *ends: str) -> int | None:
        if self.at(*ends):
            return span.end
        return self.token.end if self.at(";", "->") and self.token.macro is None else None

    def statement(self) -> s.Statement:
        labels: list[str] = []
        while (
            self.token.kind == "name" and self.token.text not in KEYWORDS and self.tokens[self.position + 1].text == ":"
        ):
            labels.append(self.next().text)
            self.next()
        if labels and self.at("}", "fi", "od", "::"):
            self.fail(f"label {labels[-1]} has no statement: write skip")
        begin, first = self.position, self.token
        place: dict[str, Any] = {"location": first.location, "labels": tuple(labels), "span": s.Span(0, 0, False)}
        statement = self.unlabelled(first.text if first.kind in ("name", "punctuation") else "", place)
        return msgspec.structs.replace(statement, span=self.span(begin, self.position - 1))

    def span(self, begin: int, end: int) -> s.Span:
        """A statement can be told apart in the text unless the macro that begins or ends it holds more than it."""
        first, last, after = self.tokens[begin], self.tokens[end], self.tokens[end + 1]
        shares_end = last.macro is not None and after.kind != "end" and after.macro == last.macro
        shares_start = first.macro is not None and begin > 0 and self.tokens[begin - 1].macro == first.macro
        return s.Span(first.start, last.end, not shares_end and not shares_start)

    def unlabelled(self, word: str, place: dict[str, Any]) -> s.Statement:
        if word in REFUSED:
            self.refuse()
        handler: dict[str, Callable[[dict[str, Any]], s.Statement]] = {
            "if": self.selection,
            "do": self.selection,
            "atomic": self.atomic,
            "d_step": self.atomic,
            "{": self.block,
            "goto": self.goto,
            "assert": self.claim,
            "printf": self.printf,
            "run": self.run,
            "select": self.pick,
            "for": self.count,
            **dict.fromkeys(("cas", "xchg", "fetch_add", "lock", "unlock"), self.atomically),
        }
        if word in handler:
            return handler[word](place)
        if self.at("ghost", "hidden", "show", *TYPES):
            return s.Declare(**place, variables=tuple(self.declarations()))
        if self.accept("skip"):
            return s.Skip(**place)
        if self.accept("break"):
            return s.Break(**place)
        if self.accept("else"):
            return s.Else(**place)
        if self.at("mfence", "sfence"):
            return s.FenceStatement(**place, kind=Kind.MFENCE if self.next().text == "mfence" else Kind.SFENCE)
        if word in self.inlines and self.tokens[self.position + 1].text == "(":
            return self.call(place)
        return self.expression_or_assignment(place)

    def expression_or_assignment(self, place: dict[str, Any]) -> s.Statement:
        here = self.token.location
        left = self.expression()
        if self.at("=", "++", "--"):
            if not isinstance(left, s.Name):
                self.fail("only a variable can be assigned to", here)
            operator = self.next().text
            if operator == "=":
                if self.at("run"):
                    self.fail("the number that run gives cannot be kept: write run alone")
                return s.Set(**place, target=left, value=self.expression())
            return s.Set(**place, target=left, value=s.Operation(operator[0], (left, s.Number(1)), here))
        return s.Guard(**place, condition=left)

    def selection(self, place: dict[str, Any]) -> s.Statement:
        loops = self.next().text == "do"
        end = "od" if loops else "fi"
        options: list[tuple[s.Statement, ...]] = []
        if not self.at("::"):
            self.fail(f"expected '::', found {self.token.text!r}")
        while self.accept("::"):
            here = self.token.location
            option = self.sequence("::", end)
            if not option:
                self.fail("an option without a statement", here)
            options.append(option)
        self.expect(end)
        return s.Select(**place, loops=loops, options=tuple(options))

    def atomic(self, place: dict[str, Any]) -> s.Statement:
        self.next()
        return s.Atomic(**place, body=self.braces())

    def block(self, place: dict[str, Any]) -> s.Statement:
        return s.Block(**place, body=self.braces())

    def goto(self, place: dict[str, Any]) -> s.Statement:
        self.next()
        return s.Goto(**place, target=self.name("a label"))

    def claim(self, place: dict[str, Any]) -> s.Statement:
        self.next()
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return s.Claim(**place, condition=condition)

    def printf(self, place: dict[str, Any]) -> s.Statement:
        """Says nothing about memory: read and dropped."""
        self.next()
        self.expect("(")
        if self.next().kind != "string":
            self.fail("printf begins with a text", place["location"])
        while self.accept(","):
            self.expression()
        self.expect(")")
        return s.Skip(**place)

    def run(self, place: dict[str, Any]) -> s.Statement:
        self.next()
        proctype = self.name("the name of a proctype")
        self.expect("(")
        arguments = self.arguments()
        return s.RunStatement(**place, proctype=proctype, arguments=arguments)

    def arguments(self) -> tuple[s.Expression, ...]:
        result: list[s.Expression] = []
        while not self.at(")"):
            result.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(result)

    def variable(self, what: str) -> s.Name:
        here = self.token.location
        value = self.expression()
        if not isinstance(value, s.Name):
            self.fail(f"{what} must be a variable", here)
        return value

    def atomically(self, place: dict[str, Any]) -> s.Statement:
        operation: Any = self.next().text
        self.expect("(")
        if operation in ("lock", "unlock"):
            target = self.variable(f"the argument of {operation}")
            self.expect(")")
            return s.Atomically(**place, operation=operation, result=None, target=target, arguments=())
        result = self.variable(f"the result of {operation}")
        self.expect(",")
        target = self.variable(f"the second argument of {operation}")
        self.expect(",")
        arguments = self.arguments()
        if len(arguments) != (2 if operation == "cas" else 1):
            shape = {"cas": "cas(r, x, old, new)", "xchg": "xchg(r, x, new)", "fetch_add": "fetch_add(r, x, d)"}
            self.fail(f"wrong number of arguments: {shape[operation]}", place["location"])
        return s.Atomically(**place, operation=operation, result=result, target=target, arguments=arguments)

    def pick(self, place: dict[str, Any]) -> s.Statement:
        self.next()
        self.expect("(")
        target = self.variable("what select chooses")
        self.expect(":")
        low = self.expression()
        self.expect("..")
        high = self.expression()
        self.expect(")")
        return s.Pick(**place, target=target, low=low, high=high)

    def count(self, place: dict[str, Any]) -> s.Statement:
        """``for (i : a .. b) { … }`` is the loop that SPIN makes of it."""
        self.next()
        self.expect("(")
        i = self.variable("what for counts")
        if self.at("in"):
            self.fail("for over an array is not supported: write its bounds")
        self.expect(":")
        low = self.expression()
        self.expect("..")
        high = self.expression()
        self.expect(")")
        body = self.braces()
        inner = {**place, "labels": ()}
        here = place["location"]
        step = s.Set(**inner, target=i, value=s.Operation("+", (i, s.Number(1)), here))
        go = s.Guard(**inner, condition=s.Operation("<=", (i, high), here))
        loop = s.Select(**inner, loops=True, options=((go, *body, step), (s.Else(**inner), s.Break(**inner))))
        return s.Block(**place, body=(s.Set(**inner, target=i, value=low), loop))

    def call(self, place: dict[str, Any]) -> s.Statement:
        """An inline's body with the arguments' tokens in the parameters' places, parsed where it is used."""
        name = self.next().text
        inline = self.inlines[name]
        self.expect("(")
        arguments: list[list[Token]] = [[]]
        depth = 1
        while True:
            if self.token.kind == "end":
                self.fail(f"the arguments of {name} are not closed", place["location"])
            token = self.next()
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            if depth == 0:
                break
            if token.text == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)
        given = [] if arguments == [[]] else arguments
        if len(given) != len(inline.parameters):
            self.fail(f"inline {name} takes {len(inline.parameters)} arguments, not {len(given)}", place["location"])
        if self.depth == INLINE_DEPTH:
            self.fail(f"inline {name} calls itself", place["location"])
        bound = dict(zip(inline.parameters, given, strict=True))

        def at(parameter: Token) -> list[Token]:
            """What was given, lying where the parameter lies: text is put into the inline, never into its arguments."""
            start, end, macro = parameter.start, parameter.end, parameter.macro
            return [token._replace(start=start, end=end, macro=macro) for token in bound[parameter.text]]

        body = [t for b in inline.body for t in ([b] if b.text not in bound or b.kind != "name" else at(b))]
        self.expanded += len(body)
        if self.expanded > LARGEST_EXPANSION:
            self.fail(f"inlines make more than {LARGEST_EXPANSION:,} tokens", place["location"])
        saved = self.tokens, self.position
        self.tokens, self.position = [*body, body[-1]._replace(kind="end", text="end of inline")], 0
        self.depth += 1
        statements = self.braces()
        self.depth -= 1
        self.tokens, self.position = saved
        return s.Block(**place, body=statements)
