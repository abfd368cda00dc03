"""The list in which a model is looked for and chosen, in the window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QCursor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem, QWidget

from studio.domain.models import ModelInfo
from studio.simulator import Text, Turn
from studio.ui.chat.model.model_choices import ModelChoice, matching, request_price, toggled
from studio.ui.chat.model_picker import ROW, ModelPicker, estimate, fact_columns
from studio.ui.formatting import context_size
from studio.ui.theme import Theme
from support.languages import language
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop, popup

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"

CHOICES = [
    ModelChoice("anthropic", "Anthropic", ModelInfo("claude-x", "Claude X", images=True)),
    ModelChoice("ollama", "Ollama", ModelInfo("qwen3:14b"), local=True),
    ModelChoice("openai", "OpenAI", ModelInfo("gpt-9", "GPT-9", images=False)),
]


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("", "all", ["claude-x", "qwen3:14b", "gpt-9"]),
        ("X claude", "all", ["claude-x"]),
        ("anthropic", "all", ["claude-x"]),
        ("", "local", ["qwen3:14b"]),
        ("", "vision", ["claude-x"]),
        ("gpt", "local", []),
    ],
)
def test_models_are_found_by_the_words_of_their_names(
    text: str, kind: str, found: list[str]
) -> None:
    assert [one.info.id for one in matching(CHOICES, text, kind)] == found  # type: ignore[arg-type]


def test_what_a_request_costs_is_said_only_where_it_is_known() -> None:
    model = ModelInfo("m", input_price=3.0)
    assert estimate(request_price(model, 30_000)) == "About $0.09"
    assert estimate(request_price(model, 100)) == estimate(request_price(ModelInfo("n"), 9)) == ""
    assert toggled(toggled(["a"], "b"), "a") == ["b"]
    assert context_size(None) == ""


@pytest.mark.parametrize("name", ["en", "de"])
def test_facts_fit_their_columns_in_each_language(alone: QApplication, name: str) -> None:
    theme = Theme()
    facts = ModelInfo("m", context_window=200_000, input_price=0.075, output_price=0.3)
    with language(name):
        for words, wide in fact_columns(theme, ModelChoice("p", "P", facts)):
            assert 0 < theme.metrics("small").horizontalAdvance(words) <= wide
    theme.deleteLater()


def test_the_model_of_the_chat_is_marked_however_long_its_name_is(alone: QApplication) -> None:
    theme, host = Theme(), QWidget()
    for model in ("claude-opus-4-20250514-preview", "a-name-that-is-much-longer-than-any-row-" * 3):
        facts = ModelInfo(model, context_window=200_000, input_price=0.075, output_price=0.3)
        pictures: list[QImage] = []
        with language("de"):
            for used in (False, True):
                picker = ModelPicker(theme, list, host)
                picker.models.show([ModelChoice("anthropic", "Anthropic", facts, used=used)])
                picture = QImage(520, 34, QImage.Format.Format_RGB32)
                picture.fill(0)
                painter, option = QPainter(picture), QStyleOptionViewItem()
                option.rect = picture.rect()  # type: ignore[attr-defined]  # unknown to the stubs
                picker.row.paint(painter, option, picker.models.index(len(rows(picker)) - 1))
                painter.end()
                pictures.append(picture)
        assert pictures[0] != pictures[1], model
    host.deleteLater()
    theme.deleteLater()


def opened(person: Person) -> ModelPicker:
    picker = person.window.chat.menus.picker
    assert picker is not None and picker.isVisible()
    return picker


def rows(picker: ModelPicker) -> list[str]:
    return [row if isinstance(row, str) else row.info.id for row in picker.models.rows]


@on_window_loop
async def test_a_model_is_chosen_by_keys_and_kept_as_a_favourite(tmp_path: Path) -> None:
    """P-3: the chat goes on with it; the favourite comes first and is in the settings."""

    def setup(file: object) -> None:
        file.values.own_models[COMPATIBLE] = ["other-model", "third"]  # type: ignore[attr-defined]

    script = [Turn(Text("One.")), Turn(Text("Two."))]
    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        person.say("One")
        await person.done()
        button = person.composer.model
        button.setFocus()
        person.press(Key.Key_Return)
        picker = opened(person)
        assert picker.current is not None and picker.current.used, "the chat's model is marked"
        assert {"other-model", "third"} <= set(rows(picker))
        QTest.keyClicks(picker.field, "third")
        QTest.keyClick(picker.field, Key.Key_D, CTRL)
        assert rows(picker) == ["Favourites", "third"]
        await until(lambda: person.engine.settings.values.favourite_models)
        QCursor.setPos(person.window.mapToGlobal(QPoint(5, 5)))
        button.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)  # as the click on it left it
        QTest.keyClick(picker.field, Key.Key_Escape)
        assert not picker.isVisible()
        assert button.overlay() is None, "nothing is lit where the mouse is no more"
        assert person.session.info.model == "sim-model", "Escape chooses nothing"
        person.click(button)
        assert rows(picker)[:2] == ["Favourites", "third"]
        theme, index = person.window.theme, picker.models.index(1)
        before = (picker.width(), picker.field.fontInfo().pixelSize())
        theme.set(scale=1.6)
        await until(lambda: picker.list.visualRect(index).height() == theme.height(ROW))
        assert picker.width() > before[0] and picker.field.fontInfo().pixelSize() > before[1]
        theme.set(scale=1.0)
        assert (picker.width(), picker.field.fontInfo().pixelSize()) == before
        QTest.keyClick(picker.field, Key.Key_Down)
        QTest.keyClick(picker.field, Key.Key_Up)
        assert picker.current is not None and picker.current.used
        QTest.keyClick(picker.field, Key.Key_Home)
        QTest.keyClicks(picker.field, "other")
        QTest.keyClick(picker.field, Key.Key_Return)
        await until(lambda: person.session.info.model == "other-model")
        person.window.activateWindow()  # the offscreen platform forgets who was active
        await until(person.composer.editor.hasFocus)
        person.say("Two")
        await person.done(2)
        assert person.exchanges[-1].json["model"] == "other-model"


@on_window_loop
async def test_a_model_is_chosen_with_the_mouse(tmp_path: Path) -> None:
    def setup(file: object) -> None:
        file.values.own_models[COMPATIBLE] = ["other-model"]  # type: ignore[attr-defined]

    async with at_window(tmp_path, COMPATIBLE, [], setup=setup) as person:
        person.click(person.composer.model)
        picker = opened(person)

        def place(name: str) -> QRectF:
            at = rows(picker).index(name)
            picker.list.scrollTo(picker.models.index(at))
            return QRectF(picker.list.visualRect(picker.models.index(at)))

        star = picker.row.star(place("other-model")).center().toPoint()
        QTest.mouseClick(picker.list.viewport(), Qt.MouseButton.LeftButton, pos=star)
        assert picker.isVisible() and rows(picker)[1] == "other-model"
        spoken = picker.models.index(1).data(int(Qt.ItemDataRole.AccessibleTextRole))
        assert "favourite" in str(spoken)
        middle = place("other-model").center().toPoint()
        QTest.mouseClick(picker.list.viewport(), Qt.MouseButton.RightButton, pos=middle)
        assert picker.isVisible(), "only the left button chooses"
        QTest.mouseClick(picker.list.viewport(), Qt.MouseButton.LeftButton, pos=middle)
        await until(lambda: person.composer.model.text() == "other-model")
        assert not picker.isVisible()
        person.click(person.composer.model)
        person.click(picker.kind.segment(1))
        found = [row for row in picker.models.rows if isinstance(row, ModelChoice)]
        assert "other-model" not in rows(picker) and all(row.local for row in found)
        person.click(picker.providers)
        await until(lambda: person.window.preferences.dialog is not None)
        assert person.window.preferences.dialog is not None
        person.window.preferences.dialog.close()


@on_window_loop
async def test_how_much_it_thinks_is_chosen_beside_the_model(tmp_path: Path) -> None:
    """Kept with the chat, sent with its requests, named in the button."""
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Hm."))]) as person:
        effort = person.composer.effort
        assert effort.isVisible() and effort.text() == "Effort: default"
        await person.choose(effort, "High")
        assert effort.text() == "Effort: high"
        person.composer.setFocus()
        person.say("Think")
        await person.done()
        assert person.session.info.effort == "high" and "high" in person.asked[-1]
        effort.setFocus()
        person.press(Key.Key_Return)
        menu = await until(popup)
        assert [a.text() for a in menu.actions()] == ["Default", "Low", "Medium", "High"]
        assert [a.text() for a in menu.actions() if not a.icon().isNull()] == ["High"]
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        await until(lambda: person.session.info.effort is None)
        assert effort.text() == "Effort: default"
