"""What the forms of declared pages take (X-7)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.extensions.packs.pages import FieldKind, FormField, PageRecords, PageSpec
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import Step


@pytest.mark.parametrize(
    "kind, text, kept",
    [
        ("date", "2028-02-29", "2028-02-29"),
        ("date", "2026-02-31", None),
        ("date", "٢٠٢٦-01-01", None),
        ("number", "1,5", 1.5),
        ("number", "40", 40),
        ("number", "1e30", 1e30),
        ("number", "nan", None),
        ("number", "inf", None),
    ],
)
def test_x7_only_what_a_field_means_is_kept(
    tmp_path: Path, kind: FieldKind, text: str, kept: str | float | None
) -> None:
    step = Step(1, "1.sql", "CREATE TABLE deed (id INTEGER PRIMARY KEY, value);")
    spec = PageSpec(
        "deeds", "Deeds", "deed", listed=("value",), form=(FormField("value", "Value", kind),)
    )
    with closing(PackRecords(tmp_path / "a.db", [step], "office")) as records:
        page = PageRecords(spec, records)
        if kept is None:
            with pytest.raises(ConfigurationError, match=f"Value is a {kind}"):
                page.save(None, {"value": text})
            assert page.list() == []
        else:
            page.save(None, {"value": text})
            assert page.list() == [{"id": 1, "value": kept}]
