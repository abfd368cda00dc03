"""An MCP server of the official SDK whose tools are those of a file. Run as a script.

The file has ``tools``, each with ``name``, ``description`` and ``schema``, and ``instructions``.
A tool whose entry has ``asks`` (``message`` and ``schema``, or ``url``; or ``prompt`` and ``system``
for a model) asks that first, and returns the answer. One with ``parts`` returns these, one with ``returns`` returns that as structured content; ``output`` is its schema. One with ``links`` returns links to these, one with ``writes`` overwrites that file.
Each call appends its name and arguments to the file beside it that ends with ``.calls``.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

FILE = Path(sys.argv[1])


def offered() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8"))


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=one["name"],
                description=one.get("description", ""),
                input_schema=one.get("schema", {"type": "object"}),
                output_schema=one.get("output"),
                annotations=types.ToolAnnotations.model_validate(one.get("annotations") or {}),
            )
            for one in offered()["tools"]
        ]
    )


async def call_tool(context: Any, params: Any) -> types.CallToolResult | types.InputRequiredResult:
    (tool,) = [one for one in offered()["tools"] if one["name"] == params.name]
    if asks := tool.get("asks"):
        if not params.input_responses:
            return types.InputRequiredResult(input_requests={"it": question(asks)})
        answer = params.input_responses["it"].model_dump(exclude_none=True, exclude={"meta"})
        if "prompt" in asks:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=json.dumps(answer))]
            )
        text = json.dumps({"action": answer["action"], "content": answer.get("content")})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])
    with FILE.with_suffix(".calls").open("a", encoding="utf-8") as file:
        file.write(json.dumps([params.name, params.arguments]) + "\n")
    if "writes" in tool:
        Path(tool["writes"]).write_text("by the server", encoding="utf-8")
    if "links" in tool:
        links = [
            types.ResourceLink(type="resource_link", uri=one, name="") for one in tool["links"]
        ]
        return types.CallToolResult(content=[*links])
    if "parts" in tool:
        return types.CallToolResult.model_validate(
            {"content": tool["parts"], "isError": tool.get("fails", False)}
        )
    if "returns" in tool:
        return types.CallToolResult(content=[], structured_content=tool["returns"])
    text = json.dumps({"tool": params.name, "arguments": params.arguments})
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def question(asks: Any) -> types.ElicitRequest | types.CreateMessageRequest:
    if "prompt" in asks:
        words = types.TextContent(type="text", text=asks["prompt"])
        return types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=words)],
                system_prompt=asks.get("system"),
                max_tokens=500,
            )
        )
    if "url" in asks:
        return types.ElicitRequest(
            params=types.ElicitRequestURLParams(
                message=asks["message"], url=asks["url"], elicitation_id="one"
            )
        )
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=asks["message"], requested_schema=asks["schema"]
        )
    )


async def main() -> None:
    server = Server(
        "listed",
        version="1",
        instructions=offered().get("instructions"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


asyncio.run(main())
