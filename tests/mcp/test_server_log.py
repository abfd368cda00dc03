"""What a server writes to stderr is kept, and takes no more room than it may (M-5)."""

from __future__ import annotations

from pathlib import Path

from studio.mcp.server_log import IN_FILE, KEPT, ServerLog


def test_m5_a_flood_of_lines_leaves_the_last_ones(tmp_path: Path) -> None:
    """M-5: 256 kB in memory and 1 MB in files, also where a line has no end."""
    path = tmp_path / "logs" / "raw.log"
    log = ServerLog(path)
    size = 0
    number = 0
    while size < 3 * IN_FILE:
        line = b"%06d %s\n" % (number, b"x" * 3_000)
        log.feed(line)
        size, number = size + len(line), number + 1
    last = f"{number - 1:06} "
    assert len(log.text()) <= KEPT == 256_000
    assert log.text().splitlines()[-1].startswith(last) and log.last.startswith(last)
    assert "000000 " not in log.text()
    files = [*path.parent.iterdir()]
    assert len(files) == 2
    assert sum(one.stat().st_size for one in files) < IN_FILE + 10_000
    assert last in path.read_text()
    for _ in range(100):
        log.feed(b"y" * 10_000)
    log.feed(b" the end\nnext\n")
    assert "the end" not in log.text(), "a line is cut"
    assert log.last == "next"
