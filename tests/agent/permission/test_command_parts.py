"""Command lines, taken apart as a shell would read them (T-7)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.agent.permission.command_parts import analyze_command
from studio.agent.permission.pattern_match import may_match
from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.domain.permissions import Rule
from studio.tools.builtin.run import run
from support.shell_pieces import LINES, PROGRAMS

UNCLEAR = None
D = "\0"

READ: list[tuple[str, list[str] | None]] = [
    # Ordinary ones
    ("pytest -x tests", ["pytest -x tests"]),
    ("git commit -m 'two words'", ["git commit -m 'two words'"]),
    ('git commit -m "two words"', ["git commit -m 'two words'"]),
    ("make test && make install", ["make test", "make install"]),
    ("a || b; c", ["a", "b", "c"]),
    ("cat x | grep y | wc -l", ["cat x", "grep y", "wc -l"]),
    ("a\nb\n\nc", ["a", "b", "c"]),
    ("a & b", ["a", "b"]),
    ("a 2>&1", ["a"]),
    ("a >/dev/null 2>&1", ["a"]),
    ("a > out.txt", ["> out.txt", "a"]),
    ("a >> out.txt", ["> out.txt", "a"]),
    ("a < in.txt", ["< in.txt", "a"]),
    ("a &> out", ["> out", "a"]),
    ("a >| out", ["> out", "a"]),
    ("2>err a", ["> err", "a"]),
    ("(a; b)", ["a", "b"]),
    ("{ a; b; }", ["a", "b"]),
    ("! a", ["a"]),
    ("a # rm x", ["a"]),
    ("# only words", []),
    ("a \\\n  b", ["a b"]),
    ("ls *.py", [f"ls {D}.py"]),
    ("ls ~/x", [f"ls {D}/x"]),
    ("echo $HOME ${USER:-nobody}", [f"echo {D} {D}"]),
    ("echo $((1 + 2))", [f"echo {D}"]),
    ("test -f x && a", ["test -f x", "a"]),
    ("[ -n x ] || a", ["[ -n x ]", "a"]),
    ("if a; then b; else c; fi", ["a", "b", "c"]),
    ("while a; do b; done", ["a", "b"]),
    ("until a\ndo\nb\ndone", ["a", "b"]),
    ("for f in *.py; do wc $f; done", [f"wc {D}"]),
    ("for f in a b\ndo wc $f\ndone > out", [f"wc {D}", "> out"]),
    ("f() { a; }; f", ["a", "f"]),
    ("cat <<END\nhello\nEND\n", ["cat"]),
    ("cat <<'END'\n$(rm x) `y`\nEND", ["cat"]),
    ("cat <<-END\n\thello\n\tEND\na", ["cat", "a"]),
    ("cat <<< word", ["cat"]),
    ("x=$(date); echo $x", ["date", f"echo {D}"]),
    ("find . -name '*.py'", ["find . -name *.py"]),
    ("command -v git", ["command -v git"]),
    # Programs inside of others
    ("echo $(rm x)", ["rm x", f"echo {D}"]),
    ('echo "now: $(date) $(rm x)"', ["date", "rm x", "echo 'now: \0 \0'"]),
    ("echo `rm x`", ["rm x", f"echo {D}"]),
    ("echo $(echo $(rm x))", ["rm x", f"echo {D}", f"echo {D}"]),
    ("cat <(rm x)", ["rm x", f"cat {D}"]),
    ("a > >(tee log)", ["tee log", f"> {D}", "a"]),
    ("cat <<END\n$(rm x)\nEND", ["cat", "rm x"]),
    ("sudo rm x", ["sudo", "rm x"]),
    ("sudo -u root -n rm x", ["sudo -u root -n", "rm x"]),
    ("doas rm x", ["doas", "rm x"]),
    ("env rm x", ["env", "rm x"]),
    ("env -i A=1 rm x", ["A=1", "env -i", "rm x"]),
    ("nohup rm x", ["nohup", "rm x"]),
    ("time -p rm x", ["time -p", "rm x"]),
    ("timeout 5 rm x", ["timeout 5", "rm x"]),
    ("timeout -k 1 5 rm x", ["timeout -k 1 5", "rm x"]),
    ("nice -n 10 rm x", ["nice -n 10", "rm x"]),
    ("nice -10 rm x", ["nice -10", "rm x"]),
    ("nohup nice sudo rm x", ["nohup", "nice", "sudo", "rm x"]),
    ("command rm x", ["command", "rm x"]),
    ("exec rm x", ["exec", "rm x"]),
    ("ls | xargs rm", ["ls", "xargs", f"rm {D}"]),
    ("ls | xargs -0 -n 1 rm -f", ["ls", "xargs -0 -n 1", f"rm -f {D}"]),
    ("xargs -I% rm %", ["xargs -I%", f"rm {D}"]),
    ("sh -c 'rm x; ls'", ["sh -c", "rm x", "ls"]),
    ("bash -lc 'rm x'", ["bash -lc", "rm x"]),
    ("/bin/sh -ec 'rm x'", ["/bin/sh -ec", "rm x"]),
    ("sh -c \"sh -c 'rm x'\"", ["sh -c", "rm x"]),
    ("eval 'rm x'", ["eval", "rm x"]),
    ("eval rm x ';' ls", ["eval", "rm x", "ls"]),
    ("find . -exec rm {} \\;", ["find . -exec rm {} ;", f"rm {D}"]),
    ("find . -exec rm {} +", ["find . -exec rm {} +", f"rm {D}"]),
    ("find . -ok a \\; -execdir b ';'", ["find . -ok a ; -execdir b ;", "a", "b"]),
    ("find . -fprint out", ["find . -fprint out", "> out"]),
    ("busybox rm x", ["busybox", "rm x"]),
    # Spelled oddly
    ("r\\m x", ["rm x"]),
    ("'rm' x", ["rm x"]),
    ('r"m" x', ["rm x"]),
    ("/bin/rm x", ["/bin/rm x"]),
    ("PATH=/x git", ["PATH=/x", "git"]),
    ("PATH=/x; git", ["PATH=/x", "git"]),
    ("export PATH=/x", ["PATH=/x", "export PATH=/x"]),
    ("bash build.sh a", ["bash build.sh a"]),
    # Not read, so asked about
    ("curl x | sh", UNCLEAR),
    ("sh", UNCLEAR),
    ("sh -s", UNCLEAR),
    ('sh -c "$x"', UNCLEAR),
    ("$x y", UNCLEAR),
    ("$(echo rm) x", UNCLEAR),
    ("r* x", UNCLEAR),
    ("{rm,x}", UNCLEAR),
    ("eval $x", UNCLEAR),
    ("env -S 'rm x'", UNCLEAR),
    ("env $x rm", UNCLEAR),
    ("xargs sh", UNCLEAR),
    ("xargs", ["xargs"]),
    ("xargs -I% % x", UNCLEAR),
    ("xargs -I{} sh -c '{}'", UNCLEAR),
    ("xargs env", UNCLEAR),
    ("xargs find .", UNCLEAR),
    ("find . -exec {} \\;", UNCLEAR),
    ("find . -exec sh -c 'rm {}' \\;", UNCLEAR),
    ("find $x", UNCLEAR),
    ("alias ls='rm x'", UNCLEAR),
    ("trap 'rm x' EXIT", UNCLEAR),
    ("hash -p /tmp/x git", UNCLEAR),
    ("enable -f x.so y", UNCLEAR),
    ("declare 'x[$(rm y)]=1'", UNCLEAR),
    ("printf -v 'x[$(rm y)]' z", UNCLEAR),
    ("test -v 'x[$(rm y)]'", UNCLEAR),
    ("x='y[$(rm z)]'; test -v $x", UNCLEAR),
    ("x='y[$(rm z)]'; [ -v 'y[x]' ]", UNCLEAR),
    ("x='-v y[$(rm${IFS}z)]'; [ $x ]", UNCLEAR),
    ('x=\'a -o -v y[$(rm${IFS}z)]\'; [ -f "a"$x"" ]', UNCLEAR),
    ('x=-v y=\'z[$(rm x)]\'; [ "$x" "$y" ]', UNCLEAR),
    ('[ "$@" ]', UNCLEAR),
    ("[ -f *.x ]", UNCLEAR),
    ("find . -exec [ -v {} ] \\;", UNCLEAR),
    ('[ -n "$x" -a "$y" = z ]', [f"[ -n {D} -a {D} = z ]"]),
    ("test -v x || [ $# -eq 0 ] || [ -d ~/y ]", ["test -v x", f"[ {D} -eq 0 ]", f"[ -d {D}/y ]"]),
    ("wait -n -p 'x[y]'", UNCLEAR),
    ("x='-px[$(rm y)]'; wait -n $x", UNCLEAR),
    ("wait $! %1 23", [f"wait {D} %1 23"]),
    # bash expands these twice
    ("a >&'b$(rm c)'", UNCLEAR),
    ("x='b$(rm c)'; a >&\"$x\"", UNCLEAR),
    ("a >&'b`rm c`'", UNCLEAR),
    ("a >&'.gi\\t/hooks/b'", UNCLEAR),
    ("a >&b 2>&1", ["> b", "a"]),
    ("echo $((x))", UNCLEAR),
    ("echo ${x@P}", UNCLEAR),
    ("echo ${!x}", UNCLEAR),
    ("echo ${x:-$(rm y)}", UNCLEAR),
    ("echo $'\\'; rm x #'", UNCLEAR),
    ('echo $"x"', UNCLEAR),
    ("case $(a) in $(b)) c;; esac", ["a", "b", "c"]),
    ("case x in x) rm y;; esac", ["rm y"]),
    ("case x in x) rm y; ;; (y | *.z) ls; esac > out", ["rm y", "ls", "> out"]),
    ("case x in\n  x)\n    rm y\n    ;;\n\n  *) a && b ;;\nesac\nc", ["rm y", "a", "b", "c"]),
    ("case x in esac", []),
    ('case x in a) ;; b|"c d") case y in z) a;; esac;; esac; b', ["a", "b"]),
    ("if a; then case x in x) (b);; esac; fi | c", ["a", "b", "c"]),
    ("case x in esac) a;; esac", UNCLEAR),
    ("case x in (esac) a;; esac", UNCLEAR),
    ("case x in a|esac) a;; esac", UNCLEAR),
    ("case x in a) b", UNCLEAR),
    ("case x in a) b;;", UNCLEAR),
    ("case x in a) b;& c) d;; esac", UNCLEAR),
    ("case x in a) b;;& c) d;; esac", UNCLEAR),
    ("case x in @(a|b)) c;; esac", UNCLEAR),
    ("case x in a b) c;; esac", UNCLEAR),
    ("case x in a) b;; esac c", UNCLEAR),
    ("case x in # a) b;;\nc) rm y;; esac", UNCLEAR),
    ("case #\nin in a) rm y;; esac", UNCLEAR),
    ("case x in a) b;; # c) rm y;; esac", UNCLEAR),
    ("cat <<E | case x in\na) b;;\nE\nc) rm y;; esac", UNCLEAR),
    ("case x in a) cat <<E;;\nb) rm y;;\nE\nesac", UNCLEAR),
    ("case x in a) cat <<E\n$(b)\nE\n;; esac", ["cat", "b"]),
    # bash 3.2 takes the bracket of the pattern for the end of the substitution
    ("echo $(case x in a) rm y;; esac)", UNCLEAR),
    ("(case x in a) rm y;; esac)", UNCLEAR),
    ("case x in a) (b;; c) d;; esac", UNCLEAR),
    ("a;; b", UNCLEAR),
    ("esac", UNCLEAR),
    ("a; esac", UNCLEAR),
    ("X=1 case x in a) b;; esac", UNCLEAR),
    ("sh -c 'case x in a) rm y;; esac'", ["sh -c", "rm y"]),
    ("[[ x ]]", ["[[ x ]]"]),
    ("[[ -f x ]] && a", ["[[ -f x ]]", "a"]),
    ("if [[ ! -d $x ]]; then a; fi", [f"[[ ! -d {D} ]]", "a"]),
    ("while [[ $x == *.y ]]; do a; done", [f"[[ {D} == {D}.y ]]", "a"]),
    ("[[ $x =~ ^[0-9]+$ ]] > out", [f"[[ {D} =~ ^{D}0-9]+$ ]]", "> out"]),
    ("[[ $# -gt 0 && a ]]", UNCLEAR),
    ("[[ $# -gt 0 ]] || a", [f"[[ {D} -gt 0 ]]", "a"]),
    ('[[ "${#x}" -eq "$?" ]]', [f"[[ {D} -eq {D} ]]"]),
    ("[[ -n $(rm x) ]]", ["rm x", f"[[ -n {D} ]]"]),
    ("[[ `rm x` == y ]]", ["rm x", f"[[ {D} == y ]]"]),
    # bash computes these, and runs what stands in an index there
    ("[[ $x -eq 1 ]]", UNCLEAR),
    ("[[ 'a[$(rm y)]' -lt 1 ]]", UNCLEAR),
    ("[[ x -ge 1 ]]", UNCLEAR),
    ("[[ -v 'a[$(rm y)]' ]]", UNCLEAR),
    ("[[ -R x ]]", UNCLEAR),
    ("[[ -o x ]]", UNCLEAR),
    ("[[ -t x ]]", UNCLEAR),
    # other shells end the command, or write a file, at these
    ("[[ a && rm ]]", UNCLEAR),
    ("[[ a || rm ]]", UNCLEAR),
    ("[[ a > rm ]]", UNCLEAR),
    ("[[ a < rm ]]", UNCLEAR),
    ("[[ ( a ) ]]", UNCLEAR),
    ("[[ a; rm ]]", UNCLEAR),
    ("[[ a\nrm ]]", UNCLEAR),
    ("[[ a # ]]\nrm x", UNCLEAR),
    ("[[ a #]] ]]", UNCLEAR),
    ("[[ $x y ]]", UNCLEAR),
    ("[[ $x $y z ]]", UNCLEAR),
    ("[[ a -$x b ]]", UNCLEAR),
    ("[[ -f ]]", UNCLEAR),
    ("[[ ! ]]", UNCLEAR),
    ("[[ ]]", UNCLEAR),
    ("[[ a ]] rm x", UNCLEAR),
    ("[[ a ']]' ]]", UNCLEAR),
    ("[[ a", UNCLEAR),
    ("X=1 [[ a ]]", UNCLEAR),
    ("> out [[ a ]]", UNCLEAR),
    ("env [[ a ]]", UNCLEAR),
    ("'[[' a ]]", UNCLEAR),
    ("[[ a == @(b|c) ]]", UNCLEAR),
    # dash runs what is in these, bash computes it
    ("((x))", UNCLEAR),
    ("((x++))", UNCLEAR),
    ("select x in a; do b; done", UNCLEAR),
    ("coproc a", UNCLEAR),
    ("function f { rm x; }", UNCLEAR),
    ("a &> out rm x", UNCLEAR),
    ("a 'b", UNCLEAR),
    ("a $(b", UNCLEAR),
    ("a )", UNCLEAR),
    ("a && ", ["a"]),
    ("cat <<END\nx", UNCLEAR),
    ("whi\\\nle rm x", UNCLEAR),
    ("cat <<A $(b\n)\nA\n", UNCLEAR),
    ("time { rm x; }", UNCLEAR),
    ("a\rb", UNCLEAR),
    ("a\u00a0b", UNCLEAR),
    ("x[0]=1 rm y", UNCLEAR),
    ("$(" * 50 + "a" + ")" * 50, UNCLEAR),
]


@pytest.mark.parametrize(("line", "parts"), READ)
def test_a_line_is_taken_apart(line: str, parts: list[str] | None) -> None:
    read = analyze_command(line, windows=False)
    if parts is None:
        assert read.unclear
    else:
        assert (sorted(p.text for p in read.parts), read.unclear) == (sorted(parts), "")


@pytest.mark.parametrize(
    ("line", "clear"),
    [
        ("dir /s src", True),
        ("git status", True),
        ("git status & del x", False),
        ("a | b", False),
        ("a > b", False),
        ("echo %PATH%", False),
        ("d^el x", False),
        ('"a b" c', False),
        ("cmd /c del x", False),
        ("CMD.EXE /c del x", False),
        ("powershell -c x", False),
        ("start x", False),
        ("call x", False),
    ],
)
def test_on_windows_only_plain_calls_are_read(line: str, clear: bool) -> None:
    assert (not analyze_command(line, windows=True).unclear) is clear


def test_a_reading_takes_no_longer_than_its_line() -> None:
    for line in ("(" * 20_000, "$(" * 9_999, "`" * 20_000, "a " * 9_999, "<<a " * 4_000):
        analyze_command(line, windows=False)
    assert analyze_command("a" * 20_001, windows=False).unclear


texts = st.text("ab\0 ", max_size=8)
patterns = st.text("ab?* ", max_size=6).filter(lambda text: text.strip())


@given(pattern=patterns, text=texts, fillings=st.lists(st.text("ab ", max_size=3), max_size=8))
def test_a_pattern_that_may_fit_is_never_missed(
    pattern: str, text: str, fillings: list[str]
) -> None:
    filled = text
    for filling in fillings:
        filled = filled.replace("\0", filling, 1)
    filled = filled.replace("\0", "")
    if "\0" in text and Rule("deny", "run", pattern).matches(filled):
        assert may_match(pattern, text)


# Against a real shell


def _stubs(folder: Path) -> Path:
    """Programs that only write down that they ran."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    log = folder / "log"
    log.touch()
    for name in PROGRAMS:
        stub = bin_folder / name
        stub.write_text(f'#!/bin/sh\necho {name} >> "{log}"\n')
        stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    for name in ("env", "nohup", "timeout", "nice", "xargs", "find", "sh"):
        if found := shutil.which(name):
            (bin_folder / name).symlink_to(found)
    return bin_folder


@pytest.mark.skipif(sys.platform == "win32", reason="there is no POSIX shell to compare with")
@pytest.mark.parametrize("shell", [one for one in ("/bin/sh", "/bin/bash") if Path(one).exists()])
def test_no_rule_for_one_program_lets_another_run(shell: str) -> None:
    """T-7, against the shell itself: whatever the line, only what the rules name has run."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        bin_folder, log, work = _stubs(folder), folder / "log", folder / "work"
        work.mkdir()
        # Rules for one program and for everything that only leads to others.
        leads = ("env", "nohup", "time", "timeout", "nice", "xargs", "command", "exec", "sh",
                 "eval", "find", "echo", "printf", "true", "false", "[", "set", "alias", "trap",
                 "read", "a", "x", "X=", ">", "<", ".", "E", "1", "o", "[[][[]")  # fmt: skip
        rules = [Rule("allow", "run", "alpha *")]
        rules += [Rule("allow", "run", f"{one}*") for one in leads]
        policy = Policy("ask", {"person": rules})

        @settings(
            max_examples=400,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(LINES)
        def check(line: str) -> None:
            if policy.decide(run.spec, {"command": line}).verdict != "allow":
                return
            log.write_text("")
            with subprocess.Popen(
                [shell, "-c", line],
                cwd=work,
                env={"PATH": str(bin_folder), "HOME": str(work)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as child:
                try:
                    child.wait(1)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, 9)
            ran = set(log.read_text().split())
            assert ran <= {"alpha"}, (line, ran)

        check()


@pytest.mark.parametrize(
    "command",
    [
        "git -C . push",
        "git -C there --no-pager push origin main",
        "git --git-dir=x/.git push",
        "git --git-dir x/.git --work-tree x push --force",
        "git  -c user.name=x   push",
        "/usr/bin/git -C . push",
        "env GIT_TRACE=1 git -C . push",
        "sh -c 'git -C . push'",
        "git -C $HOME push",
        "git $WHERE push",
        "true && git -P push",
        "git " + "-C . " * 60 + "push origin",
    ],
)
def test_a_rule_that_forbids_sees_through_options(command: str) -> None:
    """T-7: an option before the subcommand does not get a command past a rule."""
    for verdict in ("deny", "ask"):
        rules = [Rule.parse("run(*)"), Rule.parse("run(git push *)", verdict)]
        found = Policy("ask", {"person": rules}).decide(run.spec, {"command": command})
        assert found.verdict in (verdict, "ask"), command
    policy = Policy("ask", {"person": [Rule.parse("run(git push *)")]})
    assert policy.decide(run.spec, {"command": command}).verdict == "ask"  # and none looser


@pytest.mark.parametrize(
    ("option", "verdict"),
    [("--force", "deny"), ("--forc", "ask"), ("--f", "ask"), ("--fast", "allow"), ("-x", "allow")],
)
def test_a_rule_that_forbids_an_option_knows_its_short_forms(option: str, verdict: str) -> None:
    """T-7: most programs take every beginning of a long option for the option."""
    rules = [Rule.parse("run(*)"), Rule.parse("run(git push*--force*)", "deny")]
    policy = Policy("ask", {"person": rules})
    for command in (f"git push {option}", f"git push origin {option} main"):
        assert policy.decide(run.spec, {"command": command}).verdict == verdict


def test_what_a_forbidding_rule_leaves_alone() -> None:
    rules = [Rule.parse("run(*)"), Rule.parse("run(git push *)", "deny")]
    policy = Policy("ask", {"person": rules})
    for command in ("git -C . status", "git log --grep x", "echo git push", "git stash"):
        assert policy.decide(run.spec, {"command": command}).verdict == "allow", command
    rules[1] = Rule.parse("run(docker container rm *)", "deny")
    policy = Policy("ask", {"person": rules})
    tried = {"command": "docker --context prod container --debug rm web"}
    assert policy.decide(run.spec, tried).verdict == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git -c alias.p=push p",
        "git -c core.sshCommand=./evil fetch",
        "git --config-env=core.editor=X commit",
        "git --exec-path=. status",
        "git clone -c core.hooksPath=. there",
        "git grep -O./evil x",
        "git diff --output=a.py",
    ],
)
def test_no_pattern_allows_git_to_be_told_what_its_words_mean(command: str) -> None:
    """T-7: ``git *`` is no rule for any program that git is told to run."""
    policy = Policy("ask", {"person": [Rule.parse("run(git *)")]})
    assert policy.decide(run.spec, {"command": command}).verdict == "ask"
    whole = Policy("ask", {"person": [Rule.parse(f"run({command})")]})
    assert whole.decide(run.spec, {"command": command}).verdict == "allow"


@pytest.mark.parametrize("command", ["git $x status", "find . -delete", "сat a", "git $(x) log"])
def test_wide_rules_do_not_cover_what_nobody_meant(command: str) -> None:
    """T-7: options from a variable, a deletion beside a search, letters that look like others."""
    names = ("git *", "find *", "сat *")
    policy = Policy("ask", {"person": [Rule.parse(f"run({name})") for name in names]})
    assert policy.decide(run.spec, {"command": command}).verdict == "ask"
    assert policy.decide(run.spec, {"command": "git switch -c new"}).verdict == "allow"


@pytest.mark.parametrize(
    "command", ["python3.11 -c 'x'", "pypy3 -c 'x'", "gawk '{x}'", "Rscript -e 'x'", "vim -c '!x'"]
)
def test_always_never_means_any_program_text(command: str) -> None:
    """T-7: of what runs its arguments only this very call can be allowed for longer."""
    policy = Policy("ask")
    asked = {"command": command}
    [rule] = suggest_rules(policy, run.spec, asked, policy.decide(run.spec, asked))
    assert "*" not in rule.pattern
