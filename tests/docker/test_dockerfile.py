"""The Dockerfile names only what exists. test_images.py builds it."""

import importlib.util
import io
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from tests.docker.dockerfile import Instruction, read_dockerfile
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.conftest import TreelineServer

CHECKOUT = Path(__file__).resolve().parents[2]
DOCKERFILE = read_dockerfile(CHECKOUT / "docker" / "Dockerfile")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


def instructions(word: str) -> list[Instruction]:
    found = [instruction for instruction in DOCKERFILE if instruction.word == word]
    assert found
    return found


def test_every_copied_file_is_in_the_repository() -> None:
    for copy in instructions("COPY"):
        sources = [word for word in copy.words() if not word.startswith("--")][:-1]
        if stage := re.search(r"--from=(\S+)", copy.rest):
            assert stage[1] in {each.stage for each in DOCKERFILE}
            assert set(sources) <= {"/opt/treeline", "/app"}
        else:
            missing = [source for source in sources if not is_tracked(source)]
            assert not missing


def is_tracked(path: str) -> bool:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", path],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    return bool(listed.stdout)


def test_copies_every_package_of_the_product() -> None:
    copied = {word for copy in instructions("COPY") for word in copy.words()}
    assert {"targeting", "matcher_ext", "exchange", "pipelines", "templates"} <= copied


def test_everything_copied_is_let_through_by_the_ignore_file() -> None:
    let_through = (CHECKOUT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    for copy in instructions("COPY"):
        if "--from" not in copy.rest:
            for source in copy.words()[:-1]:
                assert f"!{source}" in let_through


def test_base_images_have_a_python_that_the_project_supports() -> None:
    oldest = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    (argument,) = instructions("ARG")
    version = re.fullmatch(r"PYTHON_IMAGE=python:(\d+)\.(\d+)-slim-bookworm", argument.rest)
    assert version
    assert (int(version[1]), int(version[2])) >= oldest


def test_every_stage_stands_on_the_one_base_image_or_another_stage() -> None:
    """Shows that the builder's compiled code fits the runtime."""
    stages = {each.stage for each in DOCKERFILE}
    below = {each.words()[0] for each in instructions("FROM")}
    assert below - stages == {"${PYTHON_IMAGE}"}


def extras_of(stage: str) -> list[str]:
    steps = [step.rest for step in instructions("RUN") if step.stage == stage]
    return re.findall(r"--extra (\S+)", " ".join(steps))


def test_installs_extras_that_the_project_has() -> None:
    extras = {extra for step in DOCKERFILE for extra in extras_of(step.stage)}
    assert extras == {"platform", "spark"}
    assert extras <= set(PROJECT["optional-dependencies"])


def test_only_the_worker_gets_spark() -> None:
    assert [each for each in ("packages", "spark-packages") if "spark" in extras_of(each)] == [
        "spark-packages"
    ]
    users = {each.stage for each in instructions("COPY") if "--from=spark-packages" in each.rest}
    assert users == {"worker"}


def test_removes_packages_that_the_project_names() -> None:
    """Shows that what is removed is named: it is there for machines without the real servers and
    without Java."""
    named = {
        re.split(r"[=<>\[]", each)[0]
        for extra in PROJECT["optional-dependencies"].values()
        for each in extra
    }
    removing = re.compile(r"uv pip uninstall --python \S+ ([\w -]+)")
    removed = " ".join(
        found[1] for step in instructions("RUN") for found in removing.finditer(step.rest)
    )
    assert removed
    assert set(removed.split()) <= named


def test_collects_the_static_files_that_production_serves(tmp_path: Path) -> None:
    (step,) = [step.rest for step in instructions("RUN") if "collectstatic" in step.rest]
    command = step.replace("\\\n", " ").replace("/app/static_collected", str(tmp_path))
    command = command.replace("/opt/treeline/bin/python", sys.executable)
    subprocess.run(["sh", "-c", command], cwd=CHECKOUT, check=True, capture_output=True)
    assert (tmp_path / "staticfiles.json").is_file()


@pytest.mark.parametrize("stage", ["web", "worker"])
def test_does_not_run_as_root(stage: str) -> None:
    users = [each.rest for each in instructions("USER") if each.stage == stage]
    assert users[-1] == "treeline"


def test_commands_exist() -> None:
    for command in instructions("CMD"):
        assert_runnable(command.exec_form())


def assert_runnable(argv: list[str]) -> None:
    """Checks that the program is installed, and that the modules and files that it is given
    exist."""
    assert shutil.which(argv[0], path=str(Path(sys.executable).parent))
    for word in argv[1:]:
        if word.endswith(".py"):
            assert (CHECKOUT / word).is_file()
        elif re.fullmatch(r"exchange\.[\w.]+", word):
            assert importlib.util.find_spec(word)
    if argv[1:2] == ["-m"]:
        module = CHECKOUT / argv[2].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()


def test_environment_variables_are_read_by_the_product() -> None:
    known = known_variables()
    for instruction in instructions("ENV"):
        names = re.findall(r"(TREELINE_\w+)=", instruction.rest)
        assert names
        assert set(names) <= known


def known_variables() -> set[str]:
    sources = [*(CHECKOUT / "exchange").rglob("*.py"), *(CHECKOUT / "pipelines").rglob("*.py")]
    names = r'"(TREELINE_\w+|DATABASE_URL|REDIS_URL)"'
    return {name for source in sources for name in re.findall(names, source.read_text())}


def test_health_check_follows_the_readiness_of_the_server(
    treeline_server: "TreelineServer",
) -> None:
    port = treeline_server.url.rpartition(":")[2]

    def check() -> int:
        script = CHECKOUT / "docker" / "healthcheck.py"
        return subprocess.run([sys.executable, script, port], check=False).returncode

    call_command("build_snapshot", stdout=io.StringIO())
    wait_until(lambda: check() == 0)  # the server looks for a new snapshot every few seconds
    treeline_server.running.stop()
    assert check() == 1
