"""Gemini generateContent: what is refused about how the answer is to be made."""

from __future__ import annotations

from studio.simulator.json_read import Body, array, obj, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused
from studio.simulator.state import ServerState

_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
_MOST = 5
_TYPES = ("text/plain", "application/json", "text/x.enum")


def calling(body: Body) -> Body:
    """What the request says of calling functions."""
    config = obj(body.get("toolConfig") or body.get("tool_config"))
    return obj(config.get("functionCallingConfig") or config.get("function_calling_config"))


def config_of(view: RequestView) -> Body:
    """The request's ``generationConfig``."""
    return obj(view.body.get("generationConfig") or view.body.get("generation_config"))


def mode_known(view: RequestView, maker: ServerState) -> None:
    """The mode of calling is a known one."""
    mode = calling(view.body).get("mode")
    if mode is not None and mode not in _MODES:
        raise RequestRefused(
            "tools",
            "Invalid value at 'tool_config.function_calling_config.mode' "
            "(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode),"
            f' "{mode}"',
        )


def mode_of_functions(view: RequestView, maker: ServerState) -> None:
    """There are functions to call or not to call."""
    if calling(view.body) and not view.tools:
        raise RequestRefused(
            "tools", "Function calling config is set without function_declarations."
        )


def names_with_any(view: RequestView, maker: ServerState) -> None:
    """Functions are named only where one has to be called."""
    config = calling(view.body)
    if config.get("allowedFunctionNames") and config.get("mode") not in ("ANY", "VALIDATED"):
        raise RequestRefused(
            "tools",
            "* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: "
            "only allowed when the mode is ANY.\n",
        )


def names_declared(view: RequestView, maker: ServerState) -> None:
    """A function that is named is there."""
    for name in array(calling(view.body).get("allowedFunctionNames")):
        if view.tools and name not in view.tool_names:
            raise RequestRefused(
                "tools",
                "* GenerateContentRequest.tool_config.function_calling_config."
                f"allowed_function_names: {name} is not in function_declarations.\n",
            )


def stops_are_texts(view: RequestView, maker: ServerState) -> None:
    """Stop sequences are up to five strings."""
    stops = config_of(view).get("stopSequences")
    if stops is None:
        return
    if not all(isinstance(one, str) for one in array(stops)) or not isinstance(stops, list):
        raise RequestRefused(
            "parameter", "Invalid value at 'generation_config.stop_sequences' (TYPE_STRING)"
        )
    if (count := len(array(stops))) > _MOST:
        raise RequestRefused(
            "parameter",
            "* GenerateContentRequest.generation_config.stop_sequences: the number of stop "
            f"sequences must be at most {_MOST}, but got {count}.\n",
        )


def top_p(view: RequestView, maker: ServerState) -> None:
    """A share is 0 to 1."""
    value = config_of(view).get("topP")
    if isinstance(value, int | float) and not 0 <= value <= 1:
        raise RequestRefused(
            "parameter",
            "* GenerateContentRequest.generation_config.top_p: top_p must be in the range "
            "[0.0, 1.0].\n",
        )


def form_known(view: RequestView, maker: ServerState) -> None:
    """The answer is of a type that can be made."""
    kind = config_of(view).get("responseMimeType")
    if kind is not None and kind not in _TYPES:
        raise RequestRefused(
            "parameter",
            "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are "
            "`text/plain`, `application/json`, `application/xml`, `application/yaml` and "
            "`text/x.enum`.\n",
        )


def schema_is_json(view: RequestView, maker: ServerState) -> None:
    """A schema is one for JSON."""
    config = config_of(view)
    schema = config.get("responseJsonSchema")
    if schema is not None and config.get("responseMimeType") != "application/json":
        raise RequestRefused(
            "parameter",
            "* GenerateContentRequest.generation_config.response_schema: only allowed when "
            "response_mime_type is `application/json`.\n",
        )


def form_without_functions(view: RequestView, maker: ServerState) -> None:
    """Models before the third generation call, or answer in JSON."""
    old = view.model.startswith(("gemini-1", "gemini-2", "sim-gemini-25"))
    if old and view.tools and text(config_of(view).get("responseMimeType")) == "application/json":
        raise RequestRefused(
            "parameter",
            "Function calling with a response mime type: 'application/json' is unsupported",
        )
