"""Seeds for fuzz_tar and fuzz_braces: python tools/fuzz-corpus-tar.py writes tests/fuzz/corpus/."""
import gzip, io, os, tarfile

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "fuzz", "corpus")


def tar(format, names, **extra):
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w", format=format) as t:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            for key, value in extra.items():
                setattr(info, key, value)
            t.addfile(info, io.BytesIO(b"abc"))
    data = buf.getvalue().rstrip(b"\0")
    return data + bytes(-len(data) % 512)


def whole(data):
    return data + bytes(1024)


def main():
    pair = ["1.jpg", "1.txt", "2.jpg"]
    ustar = whole(tar(tarfile.USTAR_FORMAT, pair))
    seeds = {
        "ustar": ustar,
        "prefix": whole(tar(tarfile.USTAR_FORMAT, ["d/" * 60 + "a.jpg"])),
        "gnu-long": whole(tar(tarfile.GNU_FORMAT, ["n" * 120 + ".jpg"])),
        "gnu-base256": whole(tar(tarfile.GNU_FORMAT, ["a.jpg"], mtime=2**40)),
        "pax": whole(tar(tarfile.PAX_FORMAT, ["é" * 60 + ".jpg"], mtime=1.5)),
        "pax-size": whole(tar(tarfile.PAX_FORMAT, ["a.jpg"], pax_headers={"size": "3", "comment": "c"})),
        "duplicate": whole(tar(tarfile.USTAR_FORMAT, ["1.jpg", "1.JPG"])),
        "non-adjacent": whole(tar(tarfile.USTAR_FORMAT, ["1.jpg", "2.jpg", "1.txt"])),
        "link": whole(tar(tarfile.USTAR_FORMAT, ["l"], type=tarfile.SYMTYPE, size=0, linkname="x")),
        "unterminated": tar(tarfile.USTAR_FORMAT, pair),
        "cut": ustar[:1700],
        "empty": bytes(1024),
        "gzip": gzip.compress(ustar, mtime=0),
        "gzip-cut": gzip.compress(ustar, mtime=0)[:60],
    }
    braces = ["{000..150}", "a{b,c{1..3}}d", "{a..e..2}", "{10..-2..3}", r"\{x\,y\}{,z}", "{a}", "}{", "{{1..9},{a,b}}"]
    for folder, files in (("tar", seeds), ("braces", {f"{i}": b.encode() for i, b in enumerate(braces)})):
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(HERE, folder, name), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main()
