"""Job: takes one user out of the logs, for good.

    python -m pipelines forget --user ID --visits LOG [--salt-file FILE] \\
        [--answers FOLDER --answers-salt-file FILE]

The user is known by the id that ad servers send; in the logs it is hashed with the log's own secret
(TREELINE_VISIT_LOG_SALT, or the file that servers keep), and under every salt of its windows. Files
without the user are not touched; every other one is written anew beside, and replaced in one step.
Running again is safe. Sketches in reports name nobody and stay; the sample is replaced nightly.
It needs no Spark and prints one JSON line. Do not run it beside another job on the log.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from pipelines.log_days import ROWS_PER_GROUP
from targeting.places import open_place
from targeting.visit_log import INCOMING, USER, USER_BEFORE, WINDOW_DAYS, Salts

SALT_VARIABLE, ANSWERS_VARIABLE = "TREELINE_VISIT_LOG_SALT", "TREELINE_ANSWER_LOG_SALT"
CLAIMED = "_claimed"
DAY = "dt="
VISIT = "visit"  # of a sampled answer: the whole visit as JSON


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was looked through, and what was taken out."""

    files: int = 0
    files_rewritten: int = 0
    rows: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="forget", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--user", required=True, help="the id as ad servers send it")
    parser.add_argument("--visits", required=True)
    parser.add_argument("--salt-file", type=Path)
    parser.add_argument("--answers", help="the log of sampled answers")
    parser.add_argument("--answers-salt-file", type=Path)
    asked = parser.parse_args(arguments)
    secret = read_secret(asked.salt_file, SALT_VARIABLE)
    if secret is None:
        parser.error(f"set {SALT_VARIABLE}, or name --salt-file")
    done = {"visits": asdict(forget_visits(asked.visits, asked.user, Salts(secret)))}
    if asked.answers:
        salt = read_secret(asked.answers_salt_file, ANSWERS_VARIABLE)
        if salt is None:
            parser.error(f"set {ANSWERS_VARIABLE}, or name --answers-salt-file")
        done["answers"] = asdict(forget_answers(asked.answers, asked.user, salt))
    print(json.dumps(done), flush=True)
    return 0


def read_secret(path: Path | None, variable: str) -> bytes | None:
    text = path.read_text() if path else os.environ.get(variable)
    return text.encode() if text else None


def forget_visits(log: str, user: str, salts: Salts) -> Forgotten:
    files, root = open_place(log.rstrip("/"))
    paths = list(list_parts(files, root))
    names = pa.array(sorted(list_names(user, salts, [day for day, _ in paths])))

    def find(rows: pa.Table) -> pa.ChunkedArray:
        """Marks the user's rows; a log without salts has the id itself."""
        columns = [rows[name] for name in (USER, USER_BEFORE) if name in rows.schema.names]
        found = pa.chunked_array([pa.repeat(False, rows.num_rows)])
        for each in columns:
            if pa.types.is_string(each.type):
                found = pc.or_(found, pc.is_in(each, names))
        return found

    return rewrite(files, [path for _, path in paths], [USER, USER_BEFORE], find)


def list_names(user: str, salts: Salts, days: Sequence[date]) -> set[str]:
    """Lists the id and its hashes in all windows that the days' rows, late ones too, may be of."""
    if not days:
        return {user}
    first, names = min(days) - timedelta(days=2 * WINDOW_DAYS), {user}
    for offset in range((max(days) - first).days + 1):
        names.add(salts.of(first + timedelta(days=offset)).hash(user))
    return names


def forget_answers(folder: str, user: str, salt: bytes) -> Forgotten:
    """Removes a user's sampled answers. It finds the hash in the visit's text, where 32 digits are
    nothing else."""
    files, root = open_place(folder.rstrip("/"))
    key = hashlib.blake2b(salt, digest_size=32).digest()
    name = hashlib.blake2b(user.encode(), key=key, digest_size=16).hexdigest()
    paths = [path for _, path in list_parts(files, root)]
    return rewrite(files, paths, [VISIT], lambda rows: pc.match_substring(rows[VISIT], f'"{name}"'))


def list_parts(files: pyarrow.fs.FileSystem, root: str) -> Iterator[tuple[date, str]]:
    """Lists every finished file of every day, compacted or not."""
    for folder in (root, f"{root}/{INCOMING}", f"{root}/{CLAIMED}"):
        found = files.get_file_info(pyarrow.fs.FileSelector(folder, allow_not_found=True))
        for entry in sorted(found, key=lambda entry: entry.path):
            if entry.base_name.startswith(DAY):
                day = date.fromisoformat(entry.base_name.removeprefix(DAY))
                for file in files.get_file_info(pyarrow.fs.FileSelector(entry.path)):
                    if file.base_name.endswith(".parquet") and file.base_name[0] not in "._":
                        yield day, file.path


def rewrite(
    files: pyarrow.fs.FileSystem,
    paths: Sequence[str],
    columns: Sequence[str],
    find: Callable[[pa.Table], pa.ChunkedArray],
) -> Forgotten:
    """Writes files anew without the rows that `find` marks, which is given only these columns."""
    rewritten = rows = 0
    for path in paths:
        table = read_columns(files, path, columns)
        is_meant = find(table) if table.num_columns else pa.array([], pa.bool_())
        found = pc.sum(is_meant).as_py() or 0
        if found:
            replace_file(files, path, pc.invert(pc.fill_null(is_meant, False)))
            rewritten, rows = rewritten + 1, rows + found
    return Forgotten(len(paths), rewritten, rows)


def read_columns(files: pyarrow.fs.FileSystem, path: str, columns: Sequence[str]) -> pa.Table:
    with files.open_input_file(path) as source:
        file = pq.ParquetFile(source)
        known = [name for name in columns if name in file.schema_arrow.names]
        return file.read(columns=known)


def replace_file(files: pyarrow.fs.FileSystem, path: str, kept: pa.ChunkedArray) -> None:
    """Writes the kept rows beside, in the order and the schema that they had, then replaces."""
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/.{name}.forgetting"
    with files.open_input_file(path) as source, files.open_output_stream(aside) as target:
        rows = pq.ParquetFile(source).read()
        with pq.ParquetWriter(target, rows.schema, compression="zstd") as writer:
            writer.write_table(rows.filter(kept), row_group_size=ROWS_PER_GROUP)
    files.move(aside, path)


if __name__ == "__main__":
    sys.exit(main())
