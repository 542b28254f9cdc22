"""Turns CUDA into C++: what the preprocessor cannot express.

The source is preprocessed first, so kernels and shared variables are found wherever they come
from: a header, a macro, either branch of an #if. All edits stay on their line, so that the
compiler's line numbers are those of the .cu file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .errors import CompileError

TOKEN = re.compile(
    r"""
      (?P<marker> ^\#[^\n]* )
    | (?P<string> R"(?P<tag>[^()\s]*)\(.*?\)(?P=tag)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<punctuation> \S )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
GUARD = "simt_guard_"
ELEMENT = "simt_element_of_"  # a variable as large as one element of the shared variable it names


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int
    line: int
    file: str


@dataclass
class Translation:
    """C++ made from CUDA, and what cannot be seen in the compiled module."""

    text: str
    unnamed_kernels: list[str] = field(default_factory=list)  # without extern "C"
    constants: list[str] = field(default_factory=list)  # names of __constant__ variables


def tokenize(text: str) -> list[Token]:
    """Splits preprocessed C++ into tokens; line markers say where each comes from."""
    tokens = []
    file, line, counted = "", 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if match.lastgroup == "marker":
            if found := re.match(r'#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"', match[0]):
                line, file = int(found[1]) - 1, found[2]
            continue
        tokens.append(Token(match[0], match.start(), match.end(), line, file))
    return tokens


class Translator:
    """One pass over the tokens of a source that collects edits."""

    def __init__(self, text: str, guards: bool) -> None:
        self.text = text
        self.guards = guards
        self.tokens = tokenize(text)
        self.edits: list[tuple[int, int, str]] = []
        self.result = Translation("")
        self.num_guards = 0

    def translate(self) -> Translation:
        scopes: list[str] = []  # of the open braces: "C", "namespace" or "body"
        for i, token in enumerate(self.tokens):
            if token.text == "{":
                scopes.append(self.scope_of(i))
            elif token.text == "}" and scopes:
                scopes.pop()
            elif token.text == "__global__":
                self.translate_kernel(i, "C" in scopes)
            elif token.text == "__launch_bounds__":
                self.replace(i, self.closing(i + 1), "")
            elif token.text == "__shared__":
                self.translate_shared(i, in_function="body" in scopes)
            elif token.text == "__constant__":
                self.replace(i, i, "")
                end = self.find(i, ("[", "=", ";", "{"))
                self.result.constants.append(self.tokens[end - 1].text)
        self.result.text = self.apply_edits()
        return self.result

    def translate_kernel(self, at: int, in_extern_c: bool) -> None:
        """Removes __global__ and registers the kernel behind its body."""
        self.replace(at, at, "")
        begin = self.statement_start(at)
        before = [token.text for token in self.tokens[begin:at]]
        bounds = ""
        i = begin
        while self.tokens[i].text != "(":
            if self.tokens[i].text in ("__launch_bounds__", "__attribute__"):
                end = self.closing(i + 1)
                if self.tokens[i].text == "__launch_bounds__":
                    bounds = ", " + self.between(i + 2, end - 1)
                i = end
            i += 1
        name = self.tokens[i - 1].text
        end = self.closing(i)
        if self.tokens[end + 1].text != "{" or "template" in before:
            return  # a declaration, or nothing that a name alone could launch
        if not in_extern_c and not ("extern" in before and '"C"' in before):
            self.result.unnamed_kernels.append(name)
            return
        names = ",".join(self.parameter_names(i + 1, end))
        body_end = self.tokens[self.closing(end + 1)].end
        registration = (
            f" static simt::Registration simt_registration_{name}("
            f'simt::Registration::describe<&{name}>("{name}", "{names}"{bounds}));'
        )
        self.edits.append((body_end, body_end, registration))

    def translate_shared(self, at: int, in_function: bool) -> None:
        """Makes a __shared__ variable thread-local, and a dynamic one a view of the buffer."""
        begin = self.statement_start(at)
        before = [token.text for token in self.tokens[begin:at]]
        end = self.find(at, (";",))
        if "extern" not in before:
            self.replace(at, at, "thread_local" if "static" in before else "static thread_local")
            if self.guards:
                guard = f"static thread_local char {GUARD}{self.num_guards}[64]"
                start = self.tokens[begin].start
                self.edits.append((start, start, f"{guard} __attribute__((used)); "))
                self.num_guards += 1
                name = self.tokens[self.find(at, ("[", ",", ";")) - 1].text
                size = f"sizeof(simt::Element<decltype({name})>)"
                note = f" static char {ELEMENT}{name}[{size}] __attribute__((used));"
                self.edits.append((self.tokens[end].end, self.tokens[end].end, note))
            return
        token = self.tokens[at]
        if not in_function:
            raise CompileError(
                f"{token.file}:{token.line}: extern __shared__ outside of a function. "
                "Declare it inside the kernels that use it"
            )
        bracket = self.find(at, ("[", ";"))
        if self.tokens[bracket].text == ";":
            raise CompileError(f"{token.file}:{token.line}: extern __shared__ needs an array, x[]")
        skipped = self.attributes(begin, bracket)
        kind = " ".join(
            self.tokens[i].text
            for i in range(begin, bracket - 1)
            if i not in skipped and self.tokens[i].text not in ("extern", "__shared__")
        )
        name, dimensions = self.tokens[bracket - 1].text, self.between(bracket, end - 1)
        self.replace(
            begin,
            end,
            f"{kind} (&{name}){dimensions} = "
            f"*reinterpret_cast<{kind} (*){dimensions}>(simt_self->dynamic_shared);",
        )

    def attributes(self, begin: int, end: int) -> set[int]:
        """Returns the tokens of __attribute__((...)) and alignas(...) in a range."""
        found: set[int] = set()
        for i in range(begin, end):
            if i not in found and self.tokens[i].text in ("__attribute__", "alignas"):
                found.update(range(i, self.closing(i + 1) + 1))
        return found

    def scope_of(self, brace: int) -> str:
        """Tells what an opening brace opens."""
        before = [token.text for token in self.tokens[self.statement_start(brace) : brace]]
        if before == ["extern", '"C"']:
            return "C"
        return "namespace" if "namespace" in before else "body"

    def parameter_names(self, begin: int, end: int) -> list[str]:
        """Returns the last word of every parameter between two parentheses."""
        names, word, depth = [], "", 0
        for token in self.tokens[begin:end]:
            depth += (token.text in "([{<") - (token.text in ")]}>")
            if token.text == "," and depth == 0:
                names.append(word)
            elif token.text[0].isalpha() or token.text[0] == "_":
                word = token.text
        return [*names, word] if end > begin else []

    def statement_start(self, at: int) -> int:
        while at > 0 and self.tokens[at - 1].text not in (";", "{", "}"):
            at -= 1
        return at

    def find(self, at: int, texts: tuple[str, ...]) -> int:
        """Returns the next token that is one of texts, outside of parentheses and braces."""
        while self.tokens[at].text not in texts:
            at = self.closing(at) + 1 if self.tokens[at].text in ("(", "{") else at + 1
        return at

    def closing(self, opening: int) -> int:
        """Returns the token that closes a parenthesis, bracket or brace."""
        opens = self.tokens[opening].text
        closes, depth = CLOSING[opens], 0
        for i in range(opening, len(self.tokens)):
            depth += (self.tokens[i].text == opens) - (self.tokens[i].text == closes)
            if depth == 0:
                return i
        token = self.tokens[opening]
        raise CompileError(f"{token.file}:{token.line}: nothing closes this {opens}")

    def between(self, first: int, last: int) -> str:
        """Returns the text from one token to another, on one line."""
        return " ".join(token.text for token in self.tokens[first : last + 1])

    def replace(self, first: int, last: int, text: str) -> None:
        """Replaces tokens; keeps the line breaks between them."""
        start, end = self.tokens[first].start, self.tokens[last].end
        self.edits.append((start, end, text + "\n" * self.text.count("\n", start, end)))

    def apply_edits(self) -> str:
        pieces, done = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: (edit[0], edit[1])):
            if start < done:  # inside of what was replaced already
                continue
            pieces += [self.text[done:start], text]
            done = end
        return "".join([*pieces, self.text[done:]])


def translate(preprocessed: str, guards: bool) -> Translation:
    """Translates preprocessed CUDA to C++.

    Args:
        preprocessed: The output of the preprocessor, with line markers.
        guards: Whether to keep a gap between shared variables, so that running over the end of one
            is not mistaken for an access to the next.

    Raises:
        CompileError: A declaration that CUDA or the runner does not allow.
    """
    return Translator(preprocessed, guards).translate()
