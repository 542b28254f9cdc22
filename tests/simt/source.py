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
MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\\n])*)"')
CLOSING = {"(": ")", "[": "]", "{": "}"}
TRANSLATED = {"{", "}", "__global__", "__launch_bounds__", "__shared__", "__constant__"}
GUARD = "simt_guard_"
ELEMENT = "simt_element_of_"  # a variable as large as one element of the shared variable it names


@dataclass
class Notes:
    """What a CUDA source says that cannot be seen in the compiled module."""

    unnamed_kernels: list[str] = field(default_factory=list)  # without extern "C"
    constants: list[str] = field(default_factory=list)  # names of __constant__ variables


def tokenize(text: str) -> tuple[list[str], list[int]]:
    """Splits preprocessed C++ into tokens; returns their texts, and where they start."""
    found = [match for match in TOKEN.finditer(text) if match.lastgroup != "marker"]
    return [match[0] for match in found], [match.start() for match in found]


def place(text: str, start: int) -> str:
    """Tells the file and the line of a token from the line markers before it."""
    file, line, counted = "", 1, 0
    for match in TOKEN.finditer(text):
        if match.start() >= start:
            break
        if match.lastgroup == "marker" and (found := MARKER.match(match[0])):
            file, line, counted = found[2], int(found[1]) - 1, match.start()
    line += text.count("\n", counted, start)
    return f"{file}:{line}"


class Translator:
    """One pass over the tokens of a source that collects edits."""

    def __init__(self, text: str, guards: bool) -> None:
        self.text = text
        self.guards = guards
        self.texts, self.starts = tokenize(text)
        self.edits: list[tuple[int, int, str]] = []
        self.notes = Notes()
        self.num_guards = 0

    def translate(self) -> str:
        scopes: list[str] = []  # of the open braces: "C", "namespace" or "body"
        for i, token in enumerate(self.texts):
            if token not in TRANSLATED:
                continue
            if token == "{":
                scopes.append(self.scope_of(i))
            elif token == "}" and scopes:
                scopes.pop()
            elif token == "__global__":
                self.translate_kernel(i, "C" in scopes)
            elif token == "__launch_bounds__":
                self.replace(i, self.closing(i + 1), "")
            elif token == "__shared__":
                self.translate_shared(i, in_function="body" in scopes)
            elif token == "__constant__":
                self.replace(i, i, "")
                end = self.find(i, ("[", "=", ";", "{"))
                self.notes.constants.append(self.texts[end - 1])
        return self.apply_edits()

    def translate_kernel(self, at: int, in_extern_c: bool) -> None:
        """Removes __global__ and registers the kernel behind its body."""
        self.replace(at, at, "")
        begin = self.statement_start(at)
        before = self.texts[begin:at]
        bounds = ""
        i = begin
        while self.texts[i] != "(":
            if self.texts[i] in ("__launch_bounds__", "__attribute__"):
                end = self.closing(i + 1)
                if self.texts[i] == "__launch_bounds__":
                    bounds = ", " + self.between(i + 2, end - 1)
                i = end
            i += 1
        name = self.texts[i - 1]
        end = self.closing(i)
        if self.texts[end + 1] != "{" or "template" in before:
            return  # a declaration, or nothing that a name alone could launch
        if not in_extern_c and not ("extern" in before and '"C"' in before):
            self.notes.unnamed_kernels.append(name)
            return
        names = ",".join(self.parameter_names(i + 1, end))
        body_end = self.end(self.closing(end + 1))
        registration = (
            f" static simt::Registration simt_registration_{name}("
            f'simt::Registration::describe<&{name}>("{name}", "{names}"{bounds}));'
        )
        self.edits.append((body_end, body_end, registration))

    def translate_shared(self, at: int, in_function: bool) -> None:
        """Makes a __shared__ variable thread-local, and a dynamic one a view of the buffer."""
        begin = self.statement_start(at)
        before = self.texts[begin:at]
        end = self.find(at, (";",))
        if "extern" not in before:
            self.replace(at, at, "thread_local" if "static" in before else "static thread_local")
            if self.guards:
                guard = f"static thread_local char {GUARD}{self.num_guards}[64]"
                start = self.starts[begin]
                self.edits.append((start, start, f"{guard} __attribute__((used)); "))
                self.num_guards += 1
                name = self.texts[self.find(at, ("[", ",", ";")) - 1]
                size = f"sizeof(simt::Element<decltype({name})>)"
                note = f" static char {ELEMENT}{name}[{size}] __attribute__((used));"
                self.edits.append((self.end(end), self.end(end), note))
            return
        if not in_function:
            raise CompileError(
                f"{self.place(at)}: extern __shared__ outside of a function. "
                "Declare it inside the kernels that use it"
            )
        bracket = self.find(at, ("[", ";"))
        if self.texts[bracket] == ";":
            raise CompileError(f"{self.place(at)}: extern __shared__ needs an array, x[]")
        skipped = self.attributes(begin, bracket)
        kind = " ".join(
            self.texts[i]
            for i in range(begin, bracket - 1)
            if i not in skipped and self.texts[i] not in ("extern", "__shared__")
        )
        name, dimensions = self.texts[bracket - 1], self.between(bracket, end - 1)
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
            if i not in found and self.texts[i] in ("__attribute__", "alignas"):
                found.update(range(i, self.closing(i + 1) + 1))
        return found

    def scope_of(self, brace: int) -> str:
        """Tells what an opening brace opens."""
        before = self.texts[self.statement_start(brace) : brace]
        if before == ["extern", '"C"']:
            return "C"
        return "namespace" if "namespace" in before else "body"

    def parameter_names(self, begin: int, end: int) -> list[str]:
        """Returns the last word of every parameter between two parentheses."""
        names, word, depth = [], "", 0
        for token in self.texts[begin:end]:
            depth += (token in "([{<") - (token in ")]}>")
            if token == "," and depth == 0:
                names.append(word)
            elif token[0].isalpha() or token[0] == "_":
                word = token
        return [*names, word] if end > begin else []

    def statement_start(self, at: int) -> int:
        while at > 0 and self.texts[at - 1] not in (";", "{", "}"):
            at -= 1
        return at

    def find(self, at: int, texts: tuple[str, ...]) -> int:
        """Returns the next token that is one of texts, outside of parentheses and braces."""
        while self.texts[at] not in texts:
            at = self.closing(at) + 1 if self.texts[at] in ("(", "{") else at + 1
        return at

    def closing(self, opening: int) -> int:
        """Returns the token that closes a parenthesis, bracket or brace."""
        opens = self.texts[opening]
        closes, depth = CLOSING[opens], 0
        for i in range(opening, len(self.texts)):
            depth += (self.texts[i] == opens) - (self.texts[i] == closes)
            if depth == 0:
                return i
        raise CompileError(f"{self.place(opening)}: nothing closes this {opens}")

    def between(self, first: int, last: int) -> str:
        """Returns the text from one token to another, on one line."""
        return " ".join(self.texts[first : last + 1])

    def end(self, at: int) -> int:
        return self.starts[at] + len(self.texts[at])

    def place(self, at: int) -> str:
        return place(self.text, self.starts[at])

    def replace(self, first: int, last: int, text: str) -> None:
        """Replaces tokens; keeps the line breaks between them."""
        start, end = self.starts[first], self.end(last)
        self.edits.append((start, end, text + "\n" * self.text.count("\n", start, end)))

    def apply_edits(self) -> str:
        pieces, done = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: (edit[0], edit[1])):
            if start < done:  # inside of what was replaced already
                continue
            pieces += [self.text[done:start], text]
            done = end
        return "".join([*pieces, self.text[done:]])


def translate(preprocessed: str, guards: bool) -> tuple[str, Notes]:
    """Translates preprocessed CUDA to C++.

    Args:
        preprocessed: The output of the preprocessor, with line markers.
        guards: Whether to keep a gap between shared variables, so that running over the end of one
            is not mistaken for an access to the next.

    Raises:
        CompileError: A declaration that CUDA or the runner does not allow.
    """
    translator = Translator(preprocessed, guards)
    return translator.translate(), translator.notes
