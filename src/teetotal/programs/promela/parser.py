"""Promela text to its syntax tree: a hand-written parser, so that each error names the line and what was expected.

Supported is the part that the classical algorithms need; everything else is refused by name. Calls of inlines are
replaced by their bodies here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, get_args

import msgspec

from teetotal.errors import ParseError
from teetotal.events import Kind, Location
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.lexer import Token, tokens

TYPES: tuple[str, ...] = get_args(s.TypeName)
REFUSED = {
    "chan": "channels",
    "typedef": "typedef",
    "never": "never claims",
    "ltl": "ltl formulas (use forbidden)",
    "unless": "unless",
    "timeout": "timeout",
    "provided": "provided",
    "priority": "priority",
    "unsigned": "unsigned",
    "c_code": "embedded C",
    "c_expr": "embedded C",
    "c_decl": "embedded C",
    "_nr_pr": "_nr_pr",
    "_last": "_last",
    "enabled": "enabled()",
    "np_": "np_",
}
KEYWORDS = {
    *TYPES,
    *REFUSED,
    *(
        "if",
        "fi",
        "do",
        "od",
        "else",
        "goto",
        "break",
        "atomic",
        "d_step",
        "assert",
        "skip",
        "active",
        "proctype",
        "init",
    ),
    *(
        "run",
        "inline",
        "ghost",
        "forbidden",
        "mfence",
        "sfence",
        "cas",
        "xchg",
        "fetch_add",
        "lock",
        "unlock",
        "printf",
    ),
    *("select", "for", "true", "false", "mtype", "hidden", "show", "local"),
}
BINARY = [
    ["||"],
    ["&&"],
    ["|"],
    ["^"],
    ["&"],
    ["==", "!="],
    ["<", "<=", ">", ">="],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
]
"""From the weakest binding to the strongest, as in C."""
INLINE_DEPTH = 50


def parse(text: str, file: str) -> s.Module:
    return _Parser(text, file).module()


class _Inline(msgspec.Struct, frozen=True):
    parameters: tuple[str, ...]
    body: tuple[Token, ...]


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.file, self.text = file, text
        self.tokens = tokens(text, file)
        self.position = 0
        self.inlines: dict[str, _Inline] = {}
        self.mtypes: dict[str, int] = {}
        self.depth = 0

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def at(self, *texts: str) -> bool:
        return self.token.kind in ("name", "punctuation") and self.token.text in texts

    def next(self) -> Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def accept(self, *texts: str) -> bool:
        if self.at(*texts):
            self.next()
            return True
        return False

    def expect(self, text: str, why: str = "") -> Token:
        if not self.at(text):
            self.fail(f"expected {text!r}{why}, found {self.token.text!r}")
        return self.next()

    def name(self, what: str) -> str:
        if self.token.kind == "name" and self.token.text in REFUSED:
            self.refuse()
        if self.token.kind != "name" or self.token.text in KEYWORDS:
            self.fail(f"expected {what}, found {self.token.text!r}")
        return self.next().text

    def fail(self, message: str, location: Location | None = None) -> NoReturn:
        raise ParseError(message, location or self.token.location)

    def refuse(self) -> NoReturn:
        self.fail(f"{REFUSED[self.token.text]} is not supported; see docs/reference/promela.md")

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
        saved = self.tokens, self.position
        self.tokens, self.position = [*body, body[-1]._replace(kind="end", text="end of inline")], 0
        self.depth += 1
        statements = self.braces()
        self.depth -= 1
        self.tokens, self.position = saved
        return s.Block(**place, body=statements)

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self) -> s.Expression:
        return fold(self.binary(0))

    def binary(self, level: int) -> s.Expression:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.at(*BINARY[level]):
            token = self.next()
            left = fold(s.Operation(token.text, (left, self.binary(level + 1)), token.location))
        return left

    def unary(self) -> s.Expression:
        if self.at("!", "-", "~"):
            token = self.next()
            return fold(s.Operation(token.text, (self.unary(),), token.location))
        return self.primary()

    def primary(self) -> s.Expression:
        token = self.token
        if token.kind == "number":
            return s.Number(int(self.next().text))
        if self.accept("("):
            inner = self.expression()
            if self.accept("->"):
                yes = self.expression()
                self.expect(":")
                inner = s.Operation("?:", (inner, yes, self.expression()), token.location)
            self.expect(")")
            return fold(inner)
        if self.accept("true", "skip"):
            return s.Number(1)
        if self.accept("false"):
            return s.Number(0)
        name = self.name("an expression")
        if name in self.mtypes:
            return s.Number(self.mtypes[name])
        index = None
        if self.accept("["):
            index = self.expression()
            self.expect("]")
        if self.accept("@"):
            return s.At(name, index, self.name("a label"), token.location)
        if self.at("."):
            self.fail("typedef is not supported; see docs/reference/promela.md")
        if self.at("?"):
            self.fail("channels are not supported; see docs/reference/promela.md")
        return s.Name(name, index, token.location)


_FOLD: dict[str, Callable[..., int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b=None: -a if b is None else a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "!": lambda a: int(not a),
    "~": lambda a: ~a,
    "?:": lambda a, b, c: b if a else c,
}


def fold(expression: s.Expression) -> s.Expression:
    """A constant in place of an operation on constants."""
    if not isinstance(expression, s.Operation):
        return expression
    values = [operand.value for operand in expression.operands if isinstance(operand, s.Number)]
    if len(values) < len(expression.operands):
        return expression
    if expression.operator in ("/", "%") and values[1] == 0:
        raise ParseError("division by zero", expression.location)
    if expression.operator in ("<<", ">>") and not 0 <= values[1] < 32:
        raise ParseError("a shift by less than 0 or more than 31", expression.location)
    return s.Number(_FOLD[expression.operator](*values))
