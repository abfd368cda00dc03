"""Clients run workflows: as a model, in the background, and by ``/v1/runs`` (W-70)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2

from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.running_server import PROVIDER, RunningServer, running_server
from support.workflow_home import asked_in, begin, carry_out, write

GREET = """---
name: Greet
inputs:
  request: {type: string, required: true, description: Whom to greet}
  tone: {type: string, default: kind}
steps:
  - {id: think, title: Think, agent: Researcher}
  - {id: say, title: Say it, needs: think, agent: Writer}
---
## think
Think of ${{ inputs.request }}, ${{ inputs.tone }}.
## say
Say it: ${{ steps.think.text }}
"""
TABLE = """---
name: Table
inputs: {table: {type: file, required: true}}
outputs: {rows: "${{ rows(inputs.table) }}"}
steps:
  - {id: say, set: {done: true}}
---
"""
SAVE = """---
name: Save
steps:
  - {id: save, title: Save, agent: Writer}
  - {id: run, title: Run it, needs: save, run: "touch ran.txt"}
---
## save
Write the file.
"""


def script(view: RequestView) -> Turn:
    asked = asked_in(view)
    if "Say it" in asked:
        return Turn(Text("Hello, Ada."))
    if "Write the file" in asked:
        if any(isinstance(one, Returned) for one in view.items):
            return Turn(Text("It is written."))
        return Turn(Call("write", {"path": "note.md", "content": "A note.\n"}))
    return Turn(Text(f"About {asked.split('Think of ')[-1]}"))


def choose_model(server: RunningServer) -> None:
    """Steps that name no model have the person's."""
    values = server.house.engine.settings.values
    values.default_provider, values.default_model[PROVIDER] = PROVIDER, "sim-model"


async def wait_for(server: RunningServer, run_id: str, *states: str) -> dict[str, Any]:
    async def look() -> dict[str, Any]:
        return (await server.client.get(f"/v1/runs/{run_id}")).json()

    found = await look()
    while found["state"] not in states:
        await asyncio.sleep(0.02)
        found = await look()
    return found


async def test_w70_a_workflow_answers_as_a_model_does(tmp_path: Path) -> None:
    async with running_server(tmp_path, script) as server:
        choose_model(server)
        write(server.serving.folder, "greet", GREET)
        client = server.client
        listed = {one["id"]: one for one in (await client.get("/v1/models")).json()["data"]}
        assert listed["workflow/greet"]["name"] == "Greet"
        assert {"workflow/research", "workflow/review"} <= set(listed)

        # Chat Completions: the steps come as reasoning, the answer is the last one's.
        body = server.chat("Ada", model="workflow/greet", stream=True)
        stream = (await client.post("/v1/chat/completions", json=body)).text
        events = [json.loads(one[6:]) for one in stream.splitlines() if one.startswith("data: {")]
        deltas = [one["choices"][0]["delta"] for one in events if one["choices"]]
        told = "".join(one.get("reasoning_content") or "" for one in deltas)
        assert "Greet, run 1" in told and "Think" in told and "✓ Say it" in told
        assert "".join(one.get("content") or "" for one in deltas) == "Hello, Ada."
        assert "Think of Ada, kind." in json.dumps(server.house.asked[0].json)

        # A JSON object has all inputs; Anthropic's API as well.
        message = {"role": "user", "content": json.dumps({"request": "Bo", "tone": "dry"})}
        body = {"model": "workflow/greet", "max_tokens": 99, "messages": [message]}
        answer = (await client.post("/v1/messages", json=body)).json()
        assert answer["content"][-1]["text"] == "Hello, Ada." and answer["usage"]["output_tokens"]
        assert "Think of Bo, dry." in json.dumps(server.house.asked[-2].json)

        # What does not fit says what would.
        for name, text, words in (
            ("workflow/none", "x", "greet"),
            ("workflow/greet", '{"tone": "dry"}', "Whom to greet"),
            ("workflow/greet", '{"request": "x", "other": 1}', "no input other"),
        ):
            refused = await server.ask(text, model=name)
            assert refused.status_code in (400, 404), refused.text
            assert words in refused.json()["error"]["message"]
        title = "### Task:\nGenerate a title.\n<chat_history>x</chat_history>"
        asked = len(server.house.asked)
        assert (await server.ask(title, model="workflow/greet")).status_code == 400
        assert len(server.house.asked) == asked, "no run for a client's own housekeeping"
        assert not server.house.simulator.violations


async def test_w70_runs_in_the_background_do_no_more_than_clients_may(tmp_path: Path) -> None:
    """S-4: a step that acts waits for the person, who alone can go on with it."""
    async with running_server(tmp_path, script) as server:
        choose_model(server)
        folder = server.serving.folder
        write(folder, "greet", GREET)
        write(folder, "save", SAVE)
        client = server.client

        body = {"model": "workflow/greet", "input": "Ada", "background": True}
        begun = (await client.post("/v1/responses", json=body)).json()
        assert (begun["status"], begun["background"]) == ("in_progress", True)
        run_id = begun["id"].removeprefix("resp_")[:32]
        await wait_for(server, run_id, "done")
        found = (await client.get(f"/v1/responses/{begun['id']}")).json()
        assert found["status"] == "completed" and found["model"] == "workflow/greet"
        assert found["output"][-1]["content"][0]["text"] == "Hello, Ada."

        made = await client.post("/v1/runs", json={"workflow": "save"})
        assert made.status_code == 201
        waiting = await wait_for(server, made.json()["id"], "needs_you", "paused", "failed", "done")
        assert waiting["state"] == "needs_you", waiting
        assert waiting["steps"][0]["state"] == "needs_you" and waiting["questions"]
        assert not (folder / "ran.txt").exists() and not (folder / "note.md").exists()
        stopped = (await client.post(f"/v1/runs/{made.json()['id']}/cancel", json={})).json()
        assert stopped.get("state") == "stopped", stopped
        listed = (await client.get("/v1/runs")).json()["data"]
        assert [(one["workflow"], one["state"]) for one in listed] == [
            ("Save", "stopped"),
            ("Greet", "done"),
        ]
        own = await begin(server.house, GREET, request="me")  # the person's are none of theirs
        assert (await client.get(f"/v1/runs/{own.run.id}")).status_code == 404
        assert (await client.post(f"/v1/runs/{own.run.id}/cancel", json={})).status_code == 404
        assert len((await client.get("/v1/runs")).json()["data"]) == 2
        refused = await client.post("/v1/responses", json=body | {"model": "agent/Coder"})
        assert refused.status_code == 400 and "Only workflows" in refused.text


async def test_s4_a_client_reads_and_finds_no_file_that_it_may_not(tmp_path: Path) -> None:
    """W-70: neither by what a workflow reads, nor by asking whether a file is there."""
    async with running_server(tmp_path, script) as server:
        folder, client = server.serving.folder, server.client
        server.house.engine.settings.values.server_rules = {"deny": ["read(private/**)"]}
        write(folder, "table", TABLE)
        for name in ("private/p.csv", "open.csv", "../outside.csv"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("name,pin\nada,1234\n")

        async def begin_with(table: str) -> httpx2.Response:
            return await client.post(
                "/v1/runs", json={"workflow": "table", "inputs": {"table": table}}
            )

        for table in ("private/p.csv", "../outside.csv", str(tmp_path / "outside.csv"), "none"):
            refused = await begin_with(table)
            assert refused.status_code == 400 and "is not there" in refused.text, refused.text
        made = await begin_with("open.csv")
        done = await wait_for(server, made.json()["id"], "done", "failed")
        assert done["outputs"]["rows"] == [{"name": "ada", "pin": "1234"}]

        runs = WorkflowRuns(server.house.engine)
        options = RunOptions({"table": "open.csv"}, trigger="client")
        path = folder / ".agents" / "workflows" / "table.md"
        path.write_text(TABLE.replace("inputs.table", "'private/p.csv'"))
        run = await carry_out(await runs.start(path, folder, options))
        assert run.end is not None and "1234" not in str(run.end), "a file that is hidden"


async def test_w70_a_run_waits_for_the_person_when_the_server_stops(tmp_path: Path) -> None:
    begun = asyncio.Event()

    def slow(view: RequestView) -> Turn:
        begun.set()
        return Turn(Text("Long " * 5000))

    async with running_server(tmp_path, slow) as server:
        choose_model(server)
        write(server.serving.folder, "greet", GREET)
        made = await server.client.post(
            "/v1/runs", json={"workflow": "greet", "inputs": {"request": "Ada"}}
        )
        await begun.wait()
        await server.serving.stop()
        run = await WorkflowRuns(server.house.engine).read(made.json()["id"])
        assert run.state == "paused" and "server" in run.reason, (run.state, run.reason)
