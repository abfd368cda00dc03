"""How hard a message looks by rules alone: messages of many kinds, each with its label (L-13)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.session.model_router import TIERS, guess, weight
from studio.domain.messages import File, Image, Said, Text

QUICK = ("inline", "small")
TASK = ("inline", "large")
LARGER = ("background", "large")
HARD = ("background", "cloud")

CORPUS = [
    # Greetings and plain questions
    ("Hi", QUICK),
    ("Thanks, that works!", QUICK),
    ("Yes, go on.", QUICK),
    ("What does this function return?", QUICK),
    ("Which Python version do we need?", QUICK),
    ("How do I exit vim?", QUICK),
    ("What is the capital of Portugal?", QUICK),
    ("Is there a test for the parser?", QUICK),
    ("why is the sky blue", QUICK),
    ("Where is the database opened?", QUICK),
    ("Was macht diese Funktion?", QUICK),
    ("Wie spät ist es in Tokio?", QUICK),
    ("Quelle heure est-il ?", QUICK),
    ("¿Qué hace este archivo?", QUICK),
    ("Dove si trova il file di configurazione?", QUICK),
    ("这个函数返回什么？", QUICK),
    ("これは何ですか？", QUICK),
    ("Что делает этот файл?", QUICK),
    ("Can you rename x to y?", QUICK),
    ("List the files here.", QUICK),
    # One thing to do
    ("Fix the typo in the README.", TASK),
    ("Add a docstring to parse_date.", TASK),
    ("Write a haiku about autumn rain.", TASK),
    ("Translate this paragraph into French, keeping its tone.", TASK),
    ("Rename the variable count to total in main.py.", TASK),
    ("Schreibe einen kurzen Dankesbrief an das Team.", TASK),
    ("Ajoute un test pour la fonction parse.", TASK),
    ("Corrige el error en la función de inicio.", TASK),
    ("修复登录页面的拼写错误", TASK),
    ("ログイン画面の誤字を修正してください", TASK),
    ("Исправь опечатку в заголовке страницы.", TASK),
    # Larger ones
    ("Add type hints to all files in src.", LARGER),
    ("Update every test, then run them.", HARD),
    ("Ersetze print in allen Dateien durch logging.", LARGER),
    ("Remplace les anciens noms partout dans le code.", LARGER),
    ("Cambia el nombre de la clase en todos los archivos.", LARGER),
    ("把所有文件中的旧接口修改为新接口", LARGER),
    ("すべてのファイルでロガーを追加してください", LARGER),
    ("Замени старый логгер во всех файлах проекта.", LARGER),
    (
        "Create a command line tool:\n- reads a CSV\n- prints totals\n- exits 1 on bad rows\n",
        LARGER,
    ),
    ("Fix this:\n```\nTraceback (most recent call last):\n  …\nKeyError: 'a'\n```", LARGER),
    # Hard ones
    (
        "Refactor the storage layer: design a new architecture and migrate all modules to it.",
        HARD,
    ),
    ("Find the race condition in the scheduler and fix it everywhere.", HARD),
    ("Implement the whole protocol, then analyse its performance and document it.", HARD),
    ("Analysiere die Architektur des gesamten Projekts und schreibe einen Plan dazu.", HARD),
    ("重构整个项目的架构，然后添加测试", HARD),
    (
        "Build a web service.\n1. Design the schema\n2. Implement the API\n3. Add tests\n"
        "4. Write the documentation\n",
        HARD,
    ),
    ("Proyecto nuevo: implementa y analiza la seguridad de todas las rutas.", HARD),
]


@pytest.mark.parametrize(("message", "label"), CORPUS, ids=range(len(CORPUS)))
def test_messages_go_where_they_belong(message: str, label: tuple[str, str]) -> None:
    found = guess([Text(message)])
    assert (found.mode, found.tier) == label, weight([Text(message)])


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) >= 40
    assert {label for _, label in CORPUS} == {QUICK, TASK, LARGER, HARD}


def test_length_files_and_code_count() -> None:
    short: list[Said] = [Text("What is in this?")]
    plan = File("plan.pdf", "application/pdf", b"x")
    assert weight([plan, *short]) == weight(short) + 1
    assert weight([plan, plan, plan, *short]) == weight(short) + 2
    assert weight([Image("image/png", b"x"), *short]) == weight(short)
    assert weight([Text("word " * 130)]) == 3
    assert weight([Text("What is in this?\n```\nx = 1\n```")]) == weight(short) + 1
    # What is pasted as code is no wish of the person's.
    assert guess([Text("What does it print?\n```\nrefactor(all_files)\n```")]).tier == "small"


@given(st.lists(st.text(max_size=300), max_size=4))
def test_any_text_gets_a_guess(parts: list[str]) -> None:
    found = guess([Text(part) for part in parts])
    assert found.tier in TIERS and found.mode in ("inline", "background") and found.what


@given(st.text(max_size=200))
def test_more_files_never_make_it_easier(text: str) -> None:
    plan = File("plan.pdf", "application/pdf", b"x")
    weights = [weight([*[plan] * n, Text(text)]) for n in range(4)]
    assert weights == sorted(weights)
