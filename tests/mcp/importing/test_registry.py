"""How a registry lists a server is read as well (M-23): ``server.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from studio.mcp.importing.formats import read_path
from studio.mcp.importing.found import Found, Surroundings
from studio.mcp.importing.registry import A_BUNDLE, NO_RUNNER, SERVES_ITSELF
from studio.mcp.importing.snippet import read_snippet

KEY = "${keychain:mcp/"
LISTED: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "io.github.ada/weather-mcp-server",
    "version": "1.2.0",
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://{tenant}.example.com/mcp",
            "variables": {"tenant": {"description": "Your team", "isRequired": True}},
            "headers": [
                {"name": "X-API-Key", "description": "From the page", "isSecret": True},
                {"name": "X-Region", "default": "eu"},
                {"name": "X-Trace"},
            ],
        },
        {"type": "sse", "url": "https://example.com/sse"},
    ],
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@ada/weather",
            "version": "1.2.0",
            "transport": {"type": "stdio"},
            "packageArguments": [
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--units", "default": "celsius"},
                {"type": "named", "name": "--quiet"},
                {"type": "named", "name": "--port", "format": "number"},
                {"type": "positional", "valueHint": "folder", "isRequired": True},
            ],
            "environmentVariables": [
                {"name": "WEATHER_KEY", "isSecret": True, "isRequired": True, "default": "none"},
                {"name": "LOG_LEVEL", "default": "info"},
            ],
        },
        {
            "registryType": "oci",
            "identifier": "docker.io/ada/weather:1.2.0",
            "runtimeArguments": [
                {
                    "type": "named",
                    "name": "--mount",
                    "value": "type=bind,src={from},dst=/project",
                    "variables": {"from": {"isRequired": True, "format": "filepath"}},
                }
            ],
            "environmentVariables": [{"name": "WEATHER_KEY", "isSecret": True}],
        },
        {"registryType": "pypi", "identifier": "weather", "transport": {"type": "sse"}},
        {"registryType": "cargo", "identifier": "weather"},
        {"registryType": "mcpb", "identifier": "https://example.com/weather.mcpb"},
    ],
}


def read(text: str, tmp_path: Path) -> list[Found]:
    return read_snippet(text, Surroundings(tmp_path))


def test_m23_each_way_to_a_listed_server_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    path.write_text(json.dumps(LISTED))
    ways = {one.entry.name: one for one in read_path(path, Surroundings(tmp_path)).found}
    assert [*ways] == [
        *("weather", "weather-sse", "weather-npm", "weather-oci", "weather-pypi"),
        *("weather-cargo", "weather-mcpb"),
    ]
    first = ways["weather"]
    assert first.entry.url == f"https://{KEY}weather/tenant}}.example.com/mcp"
    assert first.entry.headers == {"X-API-Key": f"{KEY}weather/X-API-Key}}", "X-Region": "eu"}
    assert [(one.name, one.about) for one in first.missing] == [
        ("tenant", "Your team"),
        ("X-API-Key", "From the page"),
    ]
    assert ways["weather-sse"].entry.transport == "sse"
    npm = ways["weather-npm"].entry
    assert (npm.command, *npm.arguments) == (
        *("npx", "-y", "@ada/weather@1.2.0", "serve", "--units", "celsius", "--quiet"),
        f"{KEY}weather-npm/folder}}",
    )
    assert npm.environment == {
        "WEATHER_KEY": f"{KEY}weather-npm/WEATHER_KEY}}",
        "LOG_LEVEL": "info",
    }
    assert ways["weather-oci"].entry.arguments == (
        *("run", "-i", "--rm", "-e", "WEATHER_KEY", "--mount"),
        f"type=bind,src={KEY}weather-oci/from}},dst=/project",
        "docker.io/ada/weather:1.2.0",
    )
    problems = [ways[f"weather-{kind}"].problem for kind in ("pypi", "cargo", "mcpb")]
    assert problems == [SERVES_ITSELF, NO_RUNNER, A_BUNDLE]


def test_m23_the_answer_of_a_registry_and_the_first_schema_are_read(tmp_path: Path) -> None:
    old = {
        "name": "io.github.joe/sample",
        "packages": [
            {
                "registry_type": "nuget",
                "identifier": "Joe.Sample",
                "version": "0.4.0-beta",
                "package_arguments": [{"type": "positional", "value": "mcp"}],
                "environment_variables": [{"name": "SAMPLE_KEY", "is_secret": True}],
            }
        ],
    }
    (one,) = read(json.dumps({"server": old, "_meta": {}}), tmp_path)
    assert one.entry.shown == "dnx --yes Joe.Sample@0.4.0-beta -- mcp"
    assert [gap.key for gap in one.missing] == ["mcp/sample/SAMPLE_KEY"]


def test_m23_a_package_is_fetched_in_the_version_that_was_listed(tmp_path: Path) -> None:
    """M-23: each runner has its way to name it, and a port of a registry is no version; a secret
    that stands in the list is asked for, M-18."""
    packages = [
        {"registryType": "pypi", "identifier": "weather", "version": "1.2"},
        {"registryType": "oci", "identifier": "localhost:5000/ada/weather", "version": "1.2"},
        {"registryType": "oci", "identifier": "ada/weather:1.1", "version": "1.2"},
    ]
    key = {"name": "KEY", "isSecret": True, "value": "hunter2-hunter2"}
    packages[0]["environmentVariables"] = [key]  # type: ignore[assignment]
    ways = read(json.dumps({"name": "a/weather", "packages": packages}), tmp_path)
    assert [one.entry.arguments[-1] for one in ways] == [
        *("weather==1.2", "localhost:5000/ada/weather:1.2", "ada/weather:1.1")
    ]
    assert ways[0].entry.environment == {"KEY": f"{KEY}weather/KEY}}"}


def test_m23_odd_values_of_a_list_spoil_nothing(tmp_path: Path) -> None:
    odd = {
        "name": 3,
        "packages": [
            None,
            {"registryType": "npm", "identifier": "a", "packageArguments": [1, {"type": "named"}]},
            {"registryType": "npm", "identifier": "b", "environmentVariables": {"a": "b"}},
        ],
        "remotes": "none",
    }
    assert [one.entry.shown for one in read(json.dumps(odd), tmp_path)] == ["npx -y a", "npx -y b"]
