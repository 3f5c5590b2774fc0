"""Builds the corpus that `measure` is timed and checked on: Debian documentation and kernel source, as plain text.

Run by `make corpus`. Packages come through apt's own client; HTML is stripped to its text, gzipped pages are unpacked, what is
not UTF-8 is left out. With the versions of Debian 12 that is more than 500 MB in more than 40,000 files.
"""

import gzip
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

PACKAGES = (
    "linux-source-6.1", "anarchism", "debian-handbook", "dict-gcide", "python3.11-doc", "perl-doc", "libreoffice-help-de",
    "libreoffice-help-ja", "libreoffice-help-ru", "libreoffice-help-zh-cn", "debian-reference-ja", "manpages-de", "manpages-fr",
)  # fmt: skip
#: folders of the kernel that are kept: of its drivers a share, for they would be half of the corpus
KERNEL = (
    *("Documentation", "block", "crypto", "fs", "include", "init", "ipc", "kernel", "lib", "mm", "net", "security", "sound"),
    *("tools", "arch/arm64", "arch/powerpc", "arch/x86", "drivers/ata", "drivers/block", "drivers/clk", "drivers/i2c"),
    *("drivers/infiniband", "drivers/md", "drivers/nvme", "drivers/pci", "drivers/scsi", "drivers/usb", "drivers/virtio"),
)
UNSEEN = ("script", "style")


class TextOf(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002  the parser's signature
        self.unseen += tag in UNSEEN

    def handle_endtag(self, tag: str) -> None:
        self.unseen = max(self.unseen - (tag in UNSEEN), 0)

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(data)


def text_of(path: Path) -> bytes | None:
    content = path.read_bytes()
    if path.suffix in (".gz", ".dz"):
        content = gzip.decompress(content)
    try:
        written = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in written or not written.strip():
        return None
    if path.suffix in (".html", ".htm", ".xhtml"):
        page = TextOf()
        page.feed(written)
        written = "".join(page.parts)
    return written.encode("utf-8")


def unpack(package: Path, folder: Path) -> None:
    """Unpack a package; of the kernel's tarball the folders that are kept."""
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    for tarball in folder.rglob("linux-source-*.tar.*"):
        name = tarball.name.partition(".tar")[0]
        kept = [f"{name}/{part}" for part in KERNEL]
        subprocess.run(["tar", "-C", str(folder), "-xf", str(tarball), *kept], check=True)
        tarball.unlink()


def build(target: Path) -> tuple[int, int]:
    """Build the corpus below a folder that is not there yet; return its files and bytes."""
    files = size = 0
    partial = target.with_name(target.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        debs = Path(scratch) / "debs"
        debs.mkdir()
        subprocess.run(["apt-get", "-q", "download", *PACKAGES], cwd=debs, check=True)
        for package in sorted(debs.glob("*.deb")):
            name = package.name.partition("_")[0]
            folder = Path(scratch) / name
            unpack(package, folder)
            for path in sorted(folder.rglob("*")):
                # Links are left out, for a text counts once.
                text = text_of(path) if path.is_file() and not path.is_symlink() else None
                if text is None:
                    continue
                place = partial / name / path.relative_to(folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.with_name(place.name.removesuffix(".gz")).write_bytes(text)
                files, size = files + 1, size + len(text)
            shutil.rmtree(folder)
            print(f"{name}: {files:,} files, {size / 1e6:,.0f} MB so far", flush=True)
    partial.rename(target)
    return files, size


if __name__ == "__main__":
    wanted = Path(sys.argv[1] if len(sys.argv) > 1 else ".bench/corpus")
    if wanted.exists():
        print(f"{wanted} is there already")
    else:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        print("{}: {:,} files, {:,} bytes".format(wanted, *build(wanted)))
