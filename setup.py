"""Builds the compiled engine; everything else about the distribution is in pyproject.toml."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter"]

extensions = [
    Extension(
        f"matcher_ext.{source.stem}",
        [str(source)],
        language="c++",
        extra_compile_args=["-std=c++17", "-O3", *WARNINGS],
    )
    for source in sorted(Path("matcher_ext").glob("*.pyx"))
]

setup(ext_modules=cythonize(extensions, build_dir="build/cython", language_level=3))
