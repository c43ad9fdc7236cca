"""Builds the compiled engine; everything else about the distribution is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter"]
# Distances must come out the same here and in Python's math module.
EXACT = ["-ffp-contract=off"]


def list_sources() -> list[Path]:
    """All modules for a checkout; a wheel goes without the published matchers, which are for tests
    and benchmarks."""
    sources = sorted(Path("matcher_ext").rglob("*.pyx"))
    if "--inplace" in sys.argv:
        return sources
    return [source for source in sources if "engines" not in source.parts]


def engine() -> list[Extension]:
    extensions = [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            language="c++",
            extra_compile_args=["-std=c++17", "-O3", "-g0", *EXACT, *WARNINGS],
        )
        for source in list_sources()
    ]
    return cythonize(
        extensions,
        build_dir="build/cython",
        language_level=3,
        compiler_directives={"cdivision": True},
        nthreads=os.cpu_count() or 1,
    )


# The processes of cythonize read this file again where they are not forked.
if __name__ == "__main__":
    setup(ext_modules=engine())
