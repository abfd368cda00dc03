"""The permission policy: decides which calls run, are asked about or are refused (T-7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from studio.domain.agents import PermissionMode, Role
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Layer, Rule, covers, escaped
from studio.domain.tools import APPLY_PATCH, EDIT, TEXT_INPUT, ToolSpec
from studio.tools import Workspace
from studio.tools.workspace.patch import FileChange, parse_patch

from .command_parts import CommandLine, CommandPart, analyze_command
from .command_places import CommandPlaces
from .path_scope import CASE_INSENSITIVE, Place, addresses_of, place_of, with_parents
from .pattern_match import completed, may_match, possible_commands
from .rulebook import (
    FOLDER,
    PLAN,
    Decision,
    Rulebook,
    RuleEntry,
    decision_by,
    decision_in_doubt,
)

COMMAND = "command"
"""A tool whose target argument has this name hands it to a shell."""
PATH = "path"
"""The argument with the file or folder of a call."""
PATHS = "paths"
"""The argument with several of them."""
FOLDER_OF = "folder"
"""The argument with the folder that a command begins in."""
NETWORK = "network"
"""The argument with which a sandboxed command asks for the network, and the tool name of
the rules that allow this: a rule for the command alone does not allow the network."""

MAX_REMEMBERED = 4096
_STRICTNESS = attrgetter("strictness")


def _may_be(rule: Rule, text: str) -> bool:
    """Whether a rule matches what a text may become, or may be short for."""
    whole = completed(rule.pattern, text)
    return may_match(rule.pattern, text) or (
        whole != text and rule.matches(whole, fold=CASE_INSENSITIVE)
    )


def target_of(spec: ToolSpec, arguments: JsonObject) -> str:
    """The text that rules match and that a tool row shows; of a patch the names of its files."""
    if spec.name == APPLY_PATCH:
        with suppress(ToolFailed):
            return ", ".join(change.label for change in _patch_of(arguments))
        return ""
    if spec.target == PATH and arguments.get(PATHS):
        return ", ".join(_paths_of({**arguments, "to": None}))
    value = arguments.get(spec.target) if spec.target else None
    return value if isinstance(value, str) else ""


def _paths_of(arguments: JsonObject) -> list[str]:
    """The files and folders of a call, each once; without any it may be for the whole folder."""
    several = arguments.get(PATHS)
    listed = several if isinstance(several, list) else []
    found = [arguments.get(PATH), arguments.get("to"), *listed]
    paths = list(dict.fromkeys(path for path in found if isinstance(path, str)))
    return [path for path in paths if path] or paths


def _patch_of(arguments: JsonObject) -> list[FileChange]:
    patch = arguments.get(TEXT_INPUT)
    return parse_patch(patch if isinstance(patch, str) else "")


class Policy:
    """The rules of one turn, in layers.

    Deny in any layer wins. Otherwise the last matching rule decides: the one of the strongest
    layer, and the latest in it. Without a matching rule, tools that read inside the folder
    run, drafts wait, and other calls need an approval.

    ``decide`` may read the disk, to follow links: call it in a thread.
    """

    def __init__(
        self,
        mode: PermissionMode,
        rules: Mapping[Layer, Sequence[Rule]] | None = None,
        *,
        workspace: Workspace | None = None,
        role: Role = "all",
        tools: Sequence[str] = ("*",),
        cautious: bool = False,
    ) -> None:
        """``cautious``: for calls on behalf of somebody other than the person. Without a
        matching rule only reading in the folder runs, all other calls including drafts need
        an approval, and no question offers a rule."""
        self.mode: PermissionMode = mode
        self._book = Rulebook(rules or {})
        self._workspace = workspace
        self._role: Role = role
        self._tools = tuple(tools)
        self._cautious = cautious
        self._parent: Policy | None = None
        self._known: dict[tuple[str, str, str], Decision] = {}
        """Decisions on earlier commands, by tool, command and the folder it begins in."""

    def add(self, layer: Layer, rule: Rule) -> None:
        """Add a rule; it applies from now on."""
        self._book = self._book.adding(layer, rule)
        self._known = {}

    def replace_layer(self, layer: Layer, rules: Sequence[Rule]) -> None:
        """Replace the rules of a layer."""
        self._book = self._book.replacing(layer, rules)
        self._known = {}

    def adding(self, layer: Layer, *rules: Rule) -> Policy:
        """A copy of this policy with more rules, which count above it, too: a child's are its
        chat's."""
        policy = self._copy()
        if policy._parent is not None:
            policy._parent = policy._parent.adding(layer, *rules)
        for rule in rules:
            policy.add(layer, rule)
        return policy

    def within(self, parent: Policy) -> Policy:
        """A copy of this policy that never allows more than ``parent`` does (T-6).

        The person's rules for clients of the server apply in it too.
        """
        policy = self._copy()
        policy._book = policy._book.with_layer_of("server", parent._book)
        policy._parent = parent if self._parent is None else self._parent.within(parent)
        return policy

    def for_children(self) -> Policy:
        """A copy that limits other agents by role, mode and rules.

        Which tools an agent works with is a choice, and no right of those that it may start.
        """
        policy = self._copy()
        policy._tools = ("*",)
        return policy

    def at(self, workspace: Workspace) -> Policy:
        """A copy of this policy for the paths of a folder; itself if it has a folder already."""
        if self._workspace is not None:
            return self
        policy = self._copy()
        policy._workspace = workspace
        if policy._parent is not None:
            policy._parent = policy._parent.at(workspace)
        return policy

    def _copy(self) -> Policy:
        policy = Policy.__new__(Policy)  # ``copy`` takes four times as long
        vars(policy).update(vars(self), _known={})
        return policy

    def offers(self, spec: ToolSpec) -> bool:
        """Whether the model can call a tool: role and list allow it, and no rule refuses it all."""
        if not self._in_role(spec):
            return False
        names = (APPLY_PATCH, EDIT) if spec.name == APPLY_PATCH else (spec.name,)
        denied = self._book.denied_tools
        refused = bool(denied) and any(
            covers(tool, name, spec.server) for tool in denied for name in names
        )
        return not refused and (self._parent is None or self._parent.offers(spec))

    def _in_role(self, spec: ToolSpec) -> bool:
        """Whether role and list allow a tool."""
        named = EDIT if spec.name == APPLY_PATCH else spec.name
        if "*" not in self._tools and named not in self._tools:
            return False
        match self._role:
            case "all":
                return True
            case "edits":
                return spec.effect in ("read", "fetch", "draft", "note")
            case "notes":
                return spec.effect in ("read", "fetch", "note")
            case "reads":
                return spec.effect in ("read", "fetch")

    def allows_hosted(self, spec: ToolSpec) -> bool:
        """Whether a provider may run a tool itself, which leaves no call to ask about or refuse."""
        spoken = any(entry.rule.verdict != "allow" for entry in self._book.of(spec.name))
        own = self.mode != "plan" and not (spoken or self._cautious) and self.offers(spec)
        return own and (self._parent is None or self._parent.allows_hosted(spec))

    def hides(self, name: str) -> bool:
        """Whether search and lists omit a file because a rule refuses or asks about reading it.

        ``name`` is relative to the folder, with links resolved.
        """
        spellings = with_parents(name)
        if self._workspace is not None and self._book.hides_places:
            spellings += with_parents((self._workspace.origin / name).as_posix())
        spoken = self._deciding_rule("read", [name], spellings)
        hidden = spoken is not None and spoken.rule.verdict != "allow"
        return hidden or (self._parent is not None and self._parent.hides(name))

    def unreadable(self) -> list[Rule]:
        """The rules that refuse to read some files, but not all files."""
        own = [e.rule for e in self._book.of("read") if e.rule.verdict == "deny" and not e.whole]
        return own if self._parent is None else [*own, *self._parent.unreadable()]

    def decide(self, spec: ToolSpec, arguments: JsonObject, *, network: bool = False) -> Decision:
        """Decide about a call; for a draft tool ``allow`` means that drafts are applied at once.

        ``network``: a sandboxed command asks for the network. Raises ToolFailed for an
        invalid path.
        """
        spec = spec.of_call(arguments)
        decision = self._decide(spec, arguments, network)
        if self._cautious and decision.verdict == "ask":
            decision = replace(decision, insists=True)
        if self._parent is None:
            return decision
        above = self._parent.decide(spec, arguments, network=network)
        return max(decision, above, key=_STRICTNESS)

    def explain(self, spec: ToolSpec, target: str) -> Decision:
        """The decision on a call of ``spec`` with ``target``; for a patch the path of a file."""
        if spec.name == APPLY_PATCH:
            spec = replace(spec, name=EDIT, target=PATH)
        return self.decide(spec, {spec.target: target} if spec.target else {})

    def _decide(self, spec: ToolSpec, arguments: JsonObject, network: bool) -> Decision:
        if not self._in_role(spec):
            return Decision("deny", f"This agent may not use {spec.name}.", "the agent’s role")
        if self.mode == "plan" and spec.effect not in ("read", "fetch"):
            return Decision("deny", "You want a plan first.", PLAN)
        if spec.name == APPLY_PATCH:
            return self._decide_patch(spec, arguments)
        if spec.target == COMMAND:
            command = target_of(spec, arguments)
            begins = self._begins(arguments)
            if begins is not None and begins.outside is not None:
                return Decision("deny", f"{begins.outside} is outside the folder.", FOLDER)
            inside = begins.name if begins is not None else "."
            decision = self._decide_command(spec.name, command, inside)
            if network:
                # The rules for the network decide; what others refuse or ask about stays.
                wider = self._decide_command(NETWORK, command, inside)
                open_to_it = decision.verdict == "allow" or decision.rule is None
                if open_to_it or (decision.verdict == "ask" and wider.verdict == "deny"):
                    decision = wider
                if decision.verdict == "ask" and not decision.insists and not decision.rule:
                    decision = replace(decision, why="It asks for the network.")
            return decision
        target = target_of(spec, arguments)
        own = spec.server or spec.vendor_type  # such paths are no files of the folder
        paths = [] if own else _paths_of(arguments)
        if self._workspace is None or not paths:
            return self._decide_target(spec, target, None)
        places = [place_of(self._workspace, path) for path in paths]
        return max((self._decide_target(spec, target, one) for one in places), key=_STRICTNESS)

    def _decide_patch(self, spec: ToolSpec, arguments: JsonObject) -> Decision:
        """The strictest of the decisions about the edits, writes, moves and deletions (C-8).

        Rules for the patch tool itself can only restrict it. Raises ToolFailed for what is no
        patch.
        """
        decisions: list[Decision] = []
        for change in _patch_of(arguments):
            places: JsonObject = {PATH: change.path}
            named = [{"add": "write", "delete": "delete", "update": EDIT}[change.kind]]
            if change.to:
                places["to"] = change.to
                named = ["move", *(named if change.hunks else [])]
            for name in named:
                decisions.append(self._decide(replace(spec, name=name, target=PATH), places, False))
            for path in places.values():
                place = place_of(self._workspace, str(path)) if self._workspace else None
                own = self._decide_target(spec, str(path), place)
                if own.verdict != "allow" and own.rule is not None:
                    decisions.append(own)
        return max(decisions, key=_STRICTNESS)

    # Files, and everything else that is no command

    def _decide_target(self, spec: ToolSpec, target: str, place: Place | None) -> Decision:
        outside = place.outside if place else None
        if outside is not None and spec.effect != "read":
            return Decision("deny", f"{outside} is outside the folder.", FOLDER)
        names = addresses_of(target) if spec.effect == "fetch" else [target]
        names = [place.name] if place else names
        spellings = (*place.spellings, target) if place else (target,)
        spoken = self._deciding_rule(
            spec.name, names, spellings, outside=outside is not None, server=spec.server
        )
        if spoken is not None and spoken.rule.verdict == "deny":
            return decision_by(spoken)
        if place is not None and spec.effect in ("read", "draft") and spec.name != "read":
            # An edit that fails shows what is there, and a search shows all.
            reads = self._deciding_rule("read", names, spellings, outside=outside is not None)
            if reads is not None and reads.rule.verdict != "allow":
                return replace(decision_by(reads), insists=True)
        if spoken is not None:
            return replace(decision_by(spoken), opens=outside)
        if outside is not None:
            return Decision("ask", f"{outside} is outside the folder.", opens=outside)
        return self._default(spec, place)

    def _deciding_rule(
        self,
        tool: str,
        names: Sequence[str],
        spellings: Sequence[str],
        *,
        outside: bool = False,
        server: str = "",
    ) -> RuleEntry | None:
        """The deciding rule: the first match that denies, or else the last match."""
        last: RuleEntry | None = None
        for entry in self._book.of(tool, server):
            rule = entry.rule
            if rule.verdict == "allow":
                # A path outside the folder is allowed only by an absolute path.
                named = not outside or Path(rule.pattern).is_absolute()
                if named and all(rule.matches(name, fold=CASE_INSENSITIVE) for name in names):
                    last = entry
            elif any(rule.matches(name, fold=CASE_INSENSITIVE) for name in (*names, *spellings)):
                if rule.verdict == "deny":
                    return entry
                last = entry
        return last

    def _default(self, spec: ToolSpec, place: Place | None) -> Decision:
        if spec.effect == "read":
            return Decision("allow", "It only reads in the folder.", "reads in the folder")
        if self._cautious:
            return Decision("ask", "A client of the server wants it.")
        if spec.effect == "draft" and self.mode == "auto":
            if place is not None and place.guarded:
                return Decision("ask", f"{place.name} can change what programs do later.")
            return Decision("allow", "Drafts are written at once.", "the automatic mode")
        if spec.effect == "draft":
            return Decision("ask", "Drafts wait for approval.")
        if spec.effect == "fetch":
            return Decision("ask", "It reads from outside the folder.")
        if spec.acts_with:  # a rule for all its input would be one for any command
            return Decision("ask", "It types into a command that runs.", insists=True)
        return Decision("ask", f"{spec.name} acts, and no rule allows it.")

    # Commands

    def _begins(self, arguments: JsonObject) -> Place | None:
        """The folder that a command begins in, if its call names one."""
        folder = arguments.get(FOLDER_OF)
        if not isinstance(folder, str) or not folder or self._workspace is None:
            return None
        return place_of(self._workspace, folder)

    def _decide_command(self, tool: str, command: str, inside: str) -> Decision:
        known = self._known  # adding a rule replaces this dictionary
        found = known.get((tool, command, inside))
        if found is None:
            line = analyze_command(command)
            places = CommandPlaces(self._workspace, line.moves, inside)
            found = self._decide_line(tool, command, line, places)
            if not any(one.file or one.files or one.goes for one in line.parts):
                # Where a file is may change.
                if len(known) >= MAX_REMEMBERED:
                    known.clear()
                known[tool, command, inside] = found
        return found

    def _decide_line(
        self, tool: str, command: str, line: CommandLine, places: CommandPlaces
    ) -> Decision:
        entries = self._book.of(tool)
        if line.unclear:
            return self._decide_unclear(line, command, entries)
        allowed: list[RuleEntry] = []
        missing: list[CommandPart] = []
        asks: Decision | None = None
        for part in line.parts:
            rules = entries if part.files else self._book.for_part(tool, part)
            last, doubt = self._rule_for_part(part, rules, places)
            if last is not None and last.rule.verdict == "deny":
                return decision_by(last)
            if doubt is not None:
                asks = asks or decision_in_doubt(doubt, part)
            elif last is not None and last.rule.verdict == "ask":
                asks = asks or decision_by(last)
            elif last is None:
                missing.append(places.placed(part))
            else:
                allowed.append(last)
        if asks is not None:
            return asks
        if missing:
            why = self._explain_missing(missing, line, places)
            return Decision("ask", why, parts=tuple(missing))
        if not allowed:
            return Decision("ask", "There is nothing to run in it.", insists=True)
        decision = decision_by(allowed[-1])
        names = dict.fromkeys(decision_by(entry).by for entry in allowed)
        return replace(decision, by=", ".join(names))

    def _rule_for_part(
        self, part: CommandPart, entries: Iterable[RuleEntry], places: CommandPlaces
    ) -> tuple[RuleEntry | None, RuleEntry | None]:
        """The rule that decides about a part, and a rule that may match its unknown text."""
        last: RuleEntry | None = None
        doubt: RuleEntry | None = None
        names = (part.text, *part.spellings, *places.readings(part))
        for entry in entries:
            rule = entry.rule
            if entry.whole:
                fits = True
            elif rule.verdict == "allow":
                fits = self._allows(rule, part, places)
            else:
                fits = any(
                    one.matches(name, fold=CASE_INSENSITIVE)
                    for one in places.placings(rule, part)
                    for name in names
                )
                if not fits and any(_may_be(rule, name) for name in names):
                    doubt = entry
            if fits and rule.verdict == "deny":
                return entry, None
            if fits:
                last = entry
        return last, doubt

    def _allows(self, rule: Rule, part: CommandPart, places: CommandPlaces) -> bool:
        exactly = rule.pattern == escaped(part.text)
        if part.exact and not exactly:
            return False
        if self._problem(part, places) and not (exactly and part.goes):
            return False
        if part.files:
            return places.allows(rule, part)
        return rule.pattern.startswith(part.pinned) and rule.matches(part.text)

    def _problem(self, part: CommandPart, places: CommandPlaces) -> str:
        """Why no pattern allows a redirection or a change of the folder; empty if one may."""
        if not part.file:
            return places.leaves(part)
        verb = "writes to" if part.writes else "reads"
        if "\0" in part.file or not places.stays or self._workspace is None:
            return f"It {verb} a file that is only known when it runs."
        try:
            place = place_of(self._workspace, part.file)
        except Exception as error:
            return f"It {verb} “{part.file}”: {error}"
        if place.outside is not None:
            return f"It {verb} {place.outside}, outside the folder."
        if part.writes and place.guarded:
            return f"It writes to {place.name}, which can change what programs do later."
        if not part.writes and self.hides(place.name):
            return f"It reads {place.name}, which a rule protects."
        return ""

    def _explain_missing(
        self, missing: Sequence[CommandPart], line: CommandLine, places: CommandPlaces
    ) -> str:
        for part in missing:
            if why := self._problem(part, places) or part.exact:
                return why
        if len(line.parts) == 1:
            return "No rule allows this command."
        *some, last = [f"“{part.shown}”" for part in missing[:3]]
        if len(missing) > 3:
            some, last = [*some, last], f"{len(missing) - 3} more"
        return f"No rule allows {' and '.join(filter(None, (', '.join(some), last)))}."

    def _decide_unclear(
        self, line: CommandLine, command: str, entries: Sequence[RuleEntry]
    ) -> Decision:
        """Only a rule for the whole tool allows it, and only if no rule could refuse a part."""
        last: RuleEntry | None = None
        named = [
            *possible_commands(command),
            *(p for one in line.parts for p in (one.text, *one.spellings)),
        ]
        guarded = False
        for entry in entries:
            rule = entry.rule
            if entry.whole:
                last = entry
            elif rule.verdict != "allow":
                guarded = True
                if any(
                    rule.matches(one, fold=CASE_INSENSITIVE) or may_match(rule.pattern, one)
                    for one in named
                ):
                    last = entry
            if last is entry and rule.verdict == "deny":
                return decision_by(entry)
        if last is not None and last.rule.verdict == "ask":
            return decision_by(last)
        if last is not None and not guarded:
            return decision_by(last)
        why = f"This command cannot be told apart into its parts: {line.unclear}."
        return Decision("ask", why, insists=True)
