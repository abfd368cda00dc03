"""What the command line says of waits, silence and choices (S-5)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
import threading

import pytest

from studio.cli.console import Console
from studio.cli.event_printer import JsonPrinter, TextPrinter
from studio.domain.events import (
    Event,
    Retried,
    RetryScheduled,
    Routed,
    Silent,
    Summarised,
    TextDelta,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text

EVENTS: list[Event] = [
    TurnStarted("s", "t", (Text("Hi"),), "Coder", "anthropic", "m", "background"),
    TextDelta("Half"),
    RetryScheduled(2, 5, 11.6, "overloaded", "Anthropic is overloaded.", "anthropic"),
    Retried(),
    Silent(90.0),
    Summarised("s", "They met.", 4, 61_000, 9_000),
    Routed("background", "anthropic", "big", "m got stuck, so big works on it."),
    TextDelta("way."),
    TurnComplete("done"),
]


def test_waits_and_silence_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """L-12, L-13: visible here as well; the answer is not mixed with it."""
    printer = TextPrinter(Console())
    for event in EVENTS:
        printer.event(event)
    told = capsys.readouterr()
    assert told.out == "Half\nway.\n"
    assert told.err.splitlines() == [
        "Anthropic is overloaded. Trying again in 12 s (attempt 2 of 5).",
        "Nothing from Anthropic for 1 m 30 s.",
        "Earlier messages were summed up for the model, 61,000 → 9,000 tokens.",
        "m got stuck, so big works on it.",
    ]


def test_json_has_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    printer = JsonPrinter(Console())
    for event in EVENTS:
        printer.event(event)
    told = capsys.readouterr()
    names = [json.loads(line)["event"] for line in told.out.splitlines()]
    assert names[2:5] == ["retry_scheduled", "retried", "silent"] and not told.err


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (TurnComplete("refused", "other"), "The model declined to answer."),
        (
            TurnComplete("refused", "cyber: No."),
            "The model declined to answer (computer security). No.",
        ),
        (TurnComplete("step_limit", ""), "Stopped at the step limit."),
        (TurnComplete("cancelled", ""), "Stopped."),
        (TurnComplete("done", ""), ""),
    ],
)
def test_an_end_is_told_in_words(
    end: TurnComplete, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """L-7: as the window tells it, never a provider's code alone."""
    TextPrinter(Console()).event(end)
    assert capsys.readouterr().err.strip() == told


async def test_a_line_that_the_terminal_forgot_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C has a terminal forget what it announced; waiting for that would hear nothing more."""
    master, slave = os.openpty()
    beside = os.dup(slave)
    loop = asyncio.get_running_loop()
    announced = asyncio.Event()
    forgotten, answered = threading.Event(), threading.Event()

    def forget() -> None:  # in the same round of the loop in which the line is announced
        loop.remove_reader(beside)
        termios.tcflush(beside, termios.TCIFLUSH)
        forgotten.set()
        announced.set()

    def rescue() -> None:  # or a read that blocks would never end
        if forgotten.wait(10) and not answered.wait(10):
            os.write(master, b"too late\n")

    thread = threading.Thread(target=rescue)
    thread.start()
    try:
        with os.fdopen(slave, closefd=False) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            asked = asyncio.ensure_future(Console().line("Go on? "))
            await asyncio.sleep(0)
            loop.add_reader(beside, forget)
            os.write(master, b"n\n")
            await announced.wait()
            for _ in range(3):
                await asyncio.sleep(0)
            assert not asked.done()
            os.write(master, b"y\n")
            assert await asked == "y\n"
            assert os.get_blocking(slave), "others share it"
    finally:
        answered.set()
        thread.join()
        for file in (master, beside, slave):
            os.close(file)
