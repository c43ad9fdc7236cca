"""Reads as much of a Dockerfile as its tests ask for."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction with its continuation lines joined; `stage` is the name after AS."""

    stage: str
    word: str
    rest: str

    def words(self) -> list[str]:
        return shlex.split(self.rest)

    def exec_form(self) -> list[str]:
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words


def read_dockerfile(path: Path) -> list[Instruction]:
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    logical = "\n".join(lines).replace("\\\n", " ").splitlines()
    instructions: list[Instruction] = []
    stage = ""
    for line in filter(str.strip, logical):
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            stage = rest.split(" AS ")[1]
        instructions.append(Instruction(stage, word, rest.strip()))
    return instructions
