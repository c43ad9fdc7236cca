"""Handles files by Spark's own file systems, so that a path may be local, HDFS or in a store."""

from typing import Any

from pyspark.sql import SparkSession


class FileSystem:
    """The file system of a path, for the few things a job does besides reading tables."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        context: Any = spark._jsc
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._configuration: Any = context.hadoopConfiguration()
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._files: Any = self._path(root).getFileSystem(self._configuration)
        # There, a rename is a copy and a removal, but what is written appears whole.
        self._is_object_store = self._files.getUri().getScheme() not in ("file", "hdfs", "viewfs")
        # Parquet checks itself; extra files of check sums would outlive the files that we remove.
        self._files.setWriteChecksum(False)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def names_in(self, folder: str) -> list[str]:
        """Lists the names in a folder, sorted; none when there is no such folder."""
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
        """Deletes a path with all that is in it, if there is such a path."""
        self._files.delete(self._path(path), True)

    def write_whole(self, path: str, content: bytes) -> None:
        """Replaces a small file in one step: readers see the old one or the new one."""
        aside = f"{path}.aside"
        self._write(path if self._is_object_store else aside, content)
        if not self._is_object_store:
            self.replace(aside, path)

    def replace(self, source: str, target: str) -> None:
        """Renames a file, also onto one that is there: in one step on disks and HDFS."""
        jvm: Any = self._jvm
        overwrite = jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
        options = self._gateway.new_array(jvm.org.apache.hadoop.fs.Options.Rename, 1)
        options[0] = overwrite
        context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._files.getUri(), self._configuration
        )
        context.rename(self._absolute(source), self._absolute(target), options)

    def _absolute(self, path: str) -> Any:
        return self._files.makeQualified(self._path(path))

    def _write(self, path: str, content: bytes) -> None:
        """Writes a file. An object store shows it when the stream is closed, and then all of it."""
        stream = self._files.create(self._path(path), True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def rename(self, source: str, target: str) -> None:
        if not self._files.rename(self._path(source), self._path(target)):
            raise OSError(f"could not rename {source} to {target}")
