"""Invoices that a workflow reads, one item each, and what came of them."""

from __future__ import annotations

import json

from studio.simulator import RequestView, Text, Turn
from studio.storage.run_items import ItemStore
from support.engine_home import EngineHome
from support.workflow_home import asked_in, workflow

READER = "---\nname: Reader\ndescription: Reads\ntools: []\n---\nRead the invoice.\n"
TOTAL = "{type: object, required: [total], properties: {total: {type: number}}}"
INVOICES = workflow(
    f"""\
  - id: read
    agent: Reader
    for_each: ${{{{ rows("invoices.jsonl") }}}}
    outputs: {TOTAL}
    on_error: continue
    prompt: "Invoice ${{{{ item.number }}}}"
  - {{id: count, needs: read, set: {{many: '${{{{ len(steps.read.outputs) }}}}'}}}}
""",
    "outputs: {many: '${{ steps.count.outputs.many }}'}\n",
)


def invoices(home: EngineHome, count: int) -> None:
    """A folder with so many invoices, and the agent that reads them."""
    rows = [json.dumps({"number": number, "vendor": f"V{number}"}) for number in range(count)]
    (home.folder / "invoices.jsonl").write_text("\n".join(rows))
    agents = home.engine.paths.agent_places[0]
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "reader.md").write_text(READER)


def number_in(view: RequestView) -> int:
    return int(asked_in(view).partition("Invoice ")[2].split()[0])


def reads(view: RequestView) -> Turn:
    """One in a hundred is broken: its answer is no JSON."""
    number = number_in(view)
    if number % 100 == 7:
        return Turn(Text("I cannot read this."))
    return Turn(Text(json.dumps({"total": number * 2})))


async def results(home: EngineHome, run_id: str) -> dict[int, tuple[str, object]]:
    store = ItemStore(home.engine.database)
    queue = await store.queue(run_id, "read")
    assert queue is not None
    rows = await store.rows(queue, most=100_000)
    assert len({row.place for row in rows}) == len(rows)
    return {row.value["number"]: (row.state, row.outputs) for row in rows}  # type: ignore[index]


def number_in_exchange(body: dict[str, object]) -> int:
    words = json.dumps(body["messages"])
    return int(words.partition("Invoice ")[2].split('"')[0].split("\\")[0])
