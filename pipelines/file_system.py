"""Files by Spark's own file systems, so that a path may be local, HDFS or an object store."""

from typing import Any

from pyspark.sql import SparkSession


class FileSystem:
    """The file system of a path, for the few things a job does besides reading tables."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        context: Any = spark._jsc
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._files: Any = self._path(root).getFileSystem(context.hadoopConfiguration())
        # Parquet checks itself; files of check sums would be left behind by whoever removes ours.
        self._files.setWriteChecksum(False)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def names_in(self, folder: str) -> list[str]:
        """Sorted names; none when there is no such folder."""
        if not self.exists(folder):
            return []
        return sorted(
            entry.getPath().getName() for entry in self._files.listStatus(self._path(folder))
        )

    def size_of(self, path: str) -> int:
        return int(self._files.getFileStatus(self._path(path)).getLen())

    def make_folder(self, path: str) -> None:
        self._files.mkdirs(self._path(path))

    def delete(self, path: str) -> None:
        """With all that is in it; nothing happens when there is no such path."""
        self._files.delete(self._path(path), True)

    def rename(self, source: str, target: str) -> None:
        if not self._files.rename(self._path(source), self._path(target)):
            raise OSError(f"could not rename {source} to {target}")
