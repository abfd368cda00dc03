"""``agent-studio cluster``: a coordinator that starts, is asked and is stopped (W-59)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from studio.cli.exit_codes import DONE, LIMIT, USAGE
from support.engine_home import engine_home
from support.invoices import INVOICES, invoices, reads
from support.waiting import until, within
from support.workflow_home import write

pytest.importorskip("distributed", reason="the extra “cluster” is not installed")


async def test_w59_start_status_stop_and_what_is_said_without_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "anthropic", reads) as home:
        invoices(home, 60)
        write(home.folder, "invoices", INVOICES)
        assert await home.command("cluster", "status") == USAGE
        assert "No cluster is running here." in capsys.readouterr().err
        file = tmp_path / "anna.invitation"
        assert await home.command("cluster", "invite", "anna", "-o", str(file)) == DONE
        assert file.stat().st_mode & 0o077 == 0
        assert await home.command("cluster", "invite", "anna", "-o", str(file)) == USAGE
        assert await home.command("cluster", "uninvite", "ben") == USAGE
        assert "There is no invitation for ben. Invited are anna." in capsys.readouterr().err
        assert await home.command("cluster", "uninvite", "anna") == DONE
        assert "Nobody joins as anna any more" in capsys.readouterr().err
        begin = ("invoices", "--folder", str(home.folder), "--provider", home.provider)
        work = asyncio.create_task(
            home.command(
                *("cluster", "start", *begin, "--model", "sim-model", "--listen", "127.0.0.1:0")
            )
        )
        address = home.engine.paths.data / "cluster" / "address.json"
        await until(lambda: address.exists() or work.done())
        assert await home.command("cluster", "status", "--json") == DONE
        told = json.loads(capsys.readouterr().out)
        assert told["workers"] == [] and told["done"] == 0
        assert await home.command("cluster", "status") == DONE
        assert "No worker has joined." in capsys.readouterr().out
        assert await home.command("cluster", "stop") == DONE
        async with within():
            assert await work == LIMIT
        assert "You stopped the cluster." in capsys.readouterr().err
        assert not address.exists() and not home.asked, "without a worker nothing was sent"
