"""What the transcript costs: streaming at 2,000 tokens a second, opening 10,000 messages.

    QT_QPA_PLATFORM=offscreen python benchmarks/transcript.py [seconds]

One token is taken as 3.66 characters. CPU is that of the whole process.
"""

from __future__ import annotations

import random
import re
import resource
import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from studio.domain.events import StepEnded, TextDelta, TurnComplete, TurnStarted
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.domain.transcript import Transcript
from studio.ui.theme import Theme
from studio.ui.transcript.view import TranscriptView

TOKEN = 3.66
RATE = 2000
WORDS = re.findall(
    r"\w+",
    """the retry loop waits for a clock that may step back so we measure with
    monotonic time and round the delay up to whole seconds because tests stay calm""",
)


def prose(chance: random.Random, size: int) -> str:
    """An answer of about ``size`` characters: paragraphs, lists, code, tables."""
    out: list[str] = []
    length = 0
    while length < size:
        kind = chance.random()
        if kind < 0.12:
            code = "\n".join(
                f"def f{n}(x: int) -> int:\n    return x * {n}  # {chance.choice(WORDS)}"
                for n in range(chance.randint(2, 12))
            )
            piece = f"```python\n{code}\n```"
        elif kind < 0.3:
            piece = "\n".join(
                f"- {' '.join(chance.choices(WORDS, k=10))} `{chance.choice(WORDS)}()`"
                for _ in range(chance.randint(2, 7))
            )
        elif kind < 0.36:
            rows = "\n".join(f"| {chance.choice(WORDS)} | {n} |" for n in range(6))
            piece = f"| Name | Count |\n|---|--:|\n{rows}"
        elif kind < 0.45:
            piece = "## " + " ".join(chance.choices(WORDS, k=4))
        else:
            words = chance.choices(WORDS, k=chance.randint(20, 80))
            words[3] = f"**{words[3]}**"
            words[7] = f"`{words[7]}`"
            piece = " ".join(words)
        out.append(piece)
        length += len(piece) + 2
    return "\n\n".join(out)


def started() -> TurnStarted:
    said = (Text("Explain it"),)
    return TurnStarted("s", "t", said, "Coder", "simulator", "Model", "inline")


def view_of(app: QApplication) -> TranscriptView:
    theme = Theme("light")
    theme.apply(app)
    view = TranscriptView(theme)
    view.resize(1000, 800)
    view.show()
    app.processEvents()
    return view


def stream(app: QApplication, seconds: float) -> None:
    view = view_of(app)
    transcript = Transcript([started()])
    view.set_transcript(transcript)
    text = prose(random.Random(1), int(seconds * RATE * TOKEN) + 100)
    while not view.colours.can("python"):
        app.processEvents()
    begun, cpu, at = time.perf_counter(), time.process_time(), 0
    beats: list[float] = []
    last = [time.thread_time()]
    source = QTimer()
    heart = QTimer()

    def feed() -> None:
        nonlocal at
        until = min(len(text), int((time.perf_counter() - begun) * RATE * TOKEN))
        while at < until:
            index = transcript.apply(TextDelta(text[at : at + 4]))
            at += 4
            if index is not None:
                view.changed(index)
        if time.perf_counter() - begun > seconds:
            app.quit()

    def beat() -> None:
        now = time.thread_time()
        beats.append(now - last[0])
        last[0] = now

    source.timeout.connect(feed)
    heart.timeout.connect(beat)
    source.start(4)
    heart.start(5)
    app.exec()
    used = time.process_time() - cpu
    tokens = at / TOKEN
    beats.sort()
    print(f"streamed {tokens:,.0f} tokens in {seconds:.0f} s")
    share, each = used / seconds, used / tokens * 1e6
    print(f"  CPU {used:.2f} s: {each:.0f} ms a 1,000 tokens, {share:.0%} of a core")
    p99, most = beats[int(len(beats) * 0.99)] * 1000, beats[-1] * 1000
    print(f"  work p99 {p99:.1f} ms, max {most:.1f} ms")
    view.close()


def burst(app: QApplication) -> None:
    view = view_of(app)
    transcript = Transcript([started()])
    view.set_transcript(transcript)
    text = prose(random.Random(2), int(20_000 * TOKEN))
    cpu = time.process_time()
    index = transcript.apply(TextDelta(text))
    assert index is not None
    view.changed(index)
    while view.canvas.has_unparsed:
        app.processEvents()
    app.processEvents()
    print(f"20,000 tokens at once: CPU {time.process_time() - cpu:.2f} s")
    view.close()


def growth(app: QApplication) -> None:
    """What the same words cost at the end of a short and of a long message."""
    piece = prose(random.Random(5), int(1_000 * TOKEN))
    least: dict[int, float] = {}
    for tokens in [2_000, 80_000] * 4:
        view = view_of(app)
        transcript = Transcript([started()])
        view.set_transcript(transcript)
        transcript.apply(TextDelta(prose(random.Random(1), int((tokens - 1_000) * TOKEN)) + "\n\n"))
        for at in range(
            -15, len(piece), 15
        ):  # as much as comes between two updates at 200 a second
            if at == 0:
                cpu = time.process_time()
            elif at > 0:
                transcript.apply(TextDelta(piece[at : at + 15]))
            view.changed(len(transcript.blocks) - 1)
            view.flush()
            app.processEvents()
        used = time.process_time() - cpu
        least[tokens] = min(used, least.get(tokens, used))
        view.close()
        view.deleteLater()
        app.processEvents()
    short, long = least[2_000], least[80_000]
    print(
        f"1,000 tokens at the end of 1,000: {short * 1000:.0f} ms, of 79,000: {long * 1000:.0f} ms"
    )
    print(f"  {long / short:.2f} times as much (goal 1.1)")


def lasting(app: QApplication) -> None:
    """Memory after 150,000 tokens in one window, beyond what the first 30,000 took."""
    view = view_of(app)
    memory: list[int] = []
    for number in range(5):
        transcript = Transcript([started()])
        view.set_transcript(transcript)
        text = prose(random.Random(number), int(30_000 * TOKEN))
        for at in range(0, len(text), 400):
            transcript.apply(TextDelta(text[at : at + 400]))
            view.changed(len(transcript.blocks) - 1)
            view.flush()
            app.processEvents()
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    print(f"+{(memory[-1] - memory[0]) / 1024:.0f} MB in 120,000 tokens more")
    view.close()


def long_chat(messages: int) -> Transcript:
    chance = random.Random(3)
    transcript = Transcript()
    for _ in range(messages // 2):
        transcript.apply(started())
        transcript.apply(TextDelta(prose(chance, 1800)))
        transcript.apply(StepEnded(1, "end", Usage(), 1.0))
        transcript.apply(TurnComplete("done"))
    return transcript


def four(app: QApplication, seconds: float = 5.0, rate: int = 200) -> None:
    """Four streams at once: one at the end of 10,000 messages on screen, three out of sight."""
    view = view_of(app)
    shown = long_chat(10_000)
    view.set_transcript(shown)
    shown.apply(started())
    view.changed(len(shown.blocks) - 1)
    view.canvas_viewport.scroll_to_end()
    view.grab()
    while not view.colours.can("python"):
        app.processEvents()
    hidden = [Transcript([started()]) for _ in range(3)]
    text = prose(random.Random(1), int((seconds + 1) * rate * TOKEN))
    begun, at = time.perf_counter(), 0
    beats: list[float] = []
    last = [time.thread_time()]
    source, heart = QTimer(), QTimer()

    def feed() -> None:
        nonlocal at
        until = min(len(text), int((time.perf_counter() - begun) * rate * TOKEN))
        while at < until:
            piece = TextDelta(text[at : at + 4])
            at += 4
            index = shown.apply(piece)
            if index is not None:
                view.changed(index)
            for one in hidden:
                one.apply(piece)
        if time.perf_counter() - begun > seconds:
            app.quit()

    def beat() -> None:
        now = time.thread_time()
        beats.append(now - last[0])
        last[0] = now

    source.timeout.connect(feed)
    heart.timeout.connect(beat)
    source.start(4)
    heart.start(5)
    app.exec()
    beats.sort()
    p99, most = beats[int(len(beats) * 0.99)] * 1000, beats[-1] * 1000
    print(f"four streams of {rate} tokens a second, one of them into 10,000 messages")
    print(f"  work between two beats of 5 ms: p99 {p99:.1f} ms, max {most:.1f} ms (goal 16)")
    view.close()


def opening(app: QApplication, count: int = 10_000) -> None:
    chance = random.Random(3)
    transcript = long_chat(count)
    size = sum(len(getattr(block, "text", "")) for block in transcript.blocks)
    view = view_of(app)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu = time.process_time()
    view.set_transcript(transcript)
    view.grab()
    used = time.process_time() - cpu
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    what = f"opened {count:,} messages ({size / 1e6:.1f} MB)"
    print(f"{what}: {used * 1000:.0f} ms, +{memory:.0f} MB")
    pages: list[float] = []
    for _ in range(60):
        cpu = time.process_time()
        view.canvas_viewport.scroll_by(-700)
        view.grab()
        pages.append((time.process_time() - cpu) * 1000)
    pages.sort()
    jumps: list[float] = []
    for _ in range(40):
        cpu = time.process_time()
        view.canvas_viewport.scroll_to(chance.random() * view.canvas.total)
        view.grab()
        jumps.append((time.process_time() - cpu) * 1000)
    jumps.sort()
    cpu = time.process_time()
    view.resize(700, 800)
    app.processEvents()
    resized = (time.process_time() - cpu) * 1000
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    seen: list[float] = []
    for step in (350, -350) * 60:  # what is laid out already
        cpu = time.process_time()
        view.canvas_viewport.scroll_by(step)
        view.grab()
        seen.append((time.process_time() - cpu) * 1000)
    seen.sort()
    print(f"  a new page p50 {pages[30]:.1f} ms, max {pages[-1]:.1f} ms")
    print(f"  a seen page p50 {seen[60]:.1f} ms, p99 {seen[118]:.1f} ms")
    print(f"  a jump p50 {jumps[20]:.1f} ms, max {jumps[-1]:.1f} ms")
    print(f"  resized in {resized:.0f} ms; +{memory:.0f} MB after all that")
    view.close()


def main() -> None:
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    stream(app, float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
    burst(app)
    growth(app)
    lasting(app)
    four(app)
    opening(app)


if __name__ == "__main__":
    main()
