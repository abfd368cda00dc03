"""Program facts: what a program may do with other arguments than those it was asked about.

There are three kinds. A ``plain`` program reads, prints, or makes empty files and folders. A
``code`` program runs code of the folder, as every test runner does. For ``any`` it takes only
the right argument to run any program or to write any file: a compiler, an archiver, an editor,
an interpreter, and also ``cp``.

``Program.escapes`` are the arguments with which a program leaves its kind: options that run
another program, load code or write a file, such as the ``-o`` of ``sort``. No pattern with a
wildcard covers a command with one of them, whoever wrote the pattern; ``program_options``
finds them.

“Always” offers a wildcard for ``plain`` and ``code`` programs, and for ``code`` the question
says that the rule lets them run any program. For ``any`` it offers exactly this command. A
program that is not in this table counts as ``any``: most programs have some way to run another
one, and who approves one harmless call does not look for it. This costs few questions. The
programs that agents call again and again with other arguments are those that look around, the
test runners and the checkers, and they are here; a build or a deployment is mostly the same
line again. Who wants more can write the rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

Kind: TypeAlias = Literal["plain", "code", "any"]


@dataclass(frozen=True, slots=True)
class Program:
    """What one program or one of its subcommands may do.

    ``escapes`` are words. ``-x`` and ``--long`` are options, ``-long`` is one of a program that
    writes long options with one dash. ``+`` and ``@`` are operands that begin so, ``::`` is an
    address that names a program, ``#`` a second operand, ``s///`` a script of sed that does more
    than print and replace, ``.x`` an operand that is a command with a dot, ``*`` every call,
    ``*…*`` a part of any argument; ``--long-`` is every option that begins so, and ``-x@`` or
    ``--long@`` an option that is told to read its value from a file. Any other word is an
    operand.

    ``valued`` are the letters of options with a value: what follows one in a bundle is no
    option. ``subcommands`` are by the first operand; before it ``leading`` are the options with
    a value, and ``means`` those that escape. ``scripted``: its operand is a script. ``bare``:
    its first word needs no dash.
    """

    kind: Kind = "any"
    escapes: str = ""
    valued: str = ""
    subcommands: Mapping[str, Program] | None = None
    leading: str = ""
    means: str = ""
    scripted: bool = False
    bare: bool = False


RUNNERS = frozenset(
    """
    su runuser watch parallel flock chroot unshare nsenter strace ltrace gdb script ssh fish
    csh tcsh pwsh powershell cmd source . npx pnpx bunx uvx pipx expect screen tmux at batch
    crontab systemd-run pkexec run0 setpriv capsh firejail bwrap proot fakeroot unbuffer entr
    rlwrap socat chronic jobs eatmydata taskset chrt numactl prlimit softlimit setarch linux32
    linux64 catchsegv valgrind perf dbus-run-session xvfb-run osascript launchctl caffeinate
    arch start-stop-daemon run-parts rsh mosh sshpass torsocks proxychains proxychains4 choom
    cpulimit logsave multitime hyperfine faketime systemd-inhibit
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Programs that run other programs in ways that are not analysed: every call is an escape."""

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "yash"))

_PLAIN = """
    : [ [[ b2sum base32 base64 basename black break builtin cal cat cd cksum cmp column comm
    command continue cut df diff dirname dirs du echo egrep env exec exit expand expr factor false
    fgrep fmt fold free getconf grep groups head hexdump hostid id ionice join locale ls lsblk
    lscpu md5sum mkdir nice nl nohup nproc numfmt od paste pathchk pgrep pidof pr printenv
    printf ps pwd readelf readlink readonly realpath return rev rmdir seq setsid sha1sum sha224sum
    sha256sum sha384sum sha512sum shellcheck shift size sleep stat stdbuf strings sum tac tail
    test time timeout times touch tr true tsort tty type ulimit umask uname unexpand unset uptime
    users wait wc whereis which who whoami xargs yes zcat
"""
_CODE = """
    ava ctest eslint flake8 isort jest mocha mypy nox phpunit prettier py.test pylint pyright
    pytest rspec rubocop tox tsc vitest
"""
_SCRIPTED = """
    julia lua node nodejs perl php pypy python rscript ruby tclsh ts-node tsx
"""
"""Languages of which a script and its arguments follow the name."""
_MODULES = frozenset(
    """
    compileall coverage doctest flake8 isort mypy nose2 nox pylint pyright pytest tox unittest
    """.split()  # noqa: SIM905
)
"""Python's modules that run code of the folder, and no more with other arguments."""

_CARGO = Program("code", "--config --manifest-path --target-dir --artifact-dir -Z -C")
_GO = Program(
    "code",
    "-exec -toolexec -vettool -overlay -modfile -ldflags -gccgoflags -o -C -pkgdir -outputdir",
)
_CC = Program("any", "-wrapper -B -specs --specs -fplugin -fuse-ld @ -ld-path --ld-path")
_RUNS = Program("any", "*")
_UNKNOWN = Program()

_GIT_READS = """
    add annotate blame cat-file check-attr check-ignore cherry commit count-objects describe diff
    diff-files diff-index diff-tree fetch for-each-ref log ls-files ls-remote ls-tree merge-base
    name-rev range-diff rev-list rev-parse shortlog show show-branch show-ref status tag
    verify-commit verify-tag whatchanged
"""
_GIT_RUNS = """
    citool cvsserver credential credential-cache credential-store daemon difftool
    difftool--helper fast-import filter-branch for-each-repo gui help
    hook http-backend instaweb merge-index mergetool p4 pack-objects remote-ext remote-fd
    send-email shell svn web--browse
"""
_GIT_ESCAPES = (
    "--output --open-files-in-pager --upload-pack --receive-pack --exec --ext-diff --extcmd ::"
)
_GIT: dict[str, Program] = {
    **{name: Program("plain", _GIT_ESCAPES) for name in _GIT_READS.split()},
    **{name: _RUNS for name in _GIT_RUNS.split()},
    **dict.fromkeys(("merge", "pull"), Program("any", f"{_GIT_ESCAPES} -s --strategy", "FmSX")),
    **dict.fromkeys(("cherry-pick", "revert"), Program("any", f"{_GIT_ESCAPES} --strategy", "mSX")),
    "apply": Program("any", f"{_GIT_ESCAPES} --unsafe-paths --directory"),
    "archive": Program("any", f"{_GIT_ESCAPES} -o --remote"),
    "bisect": Program("any", f"{_GIT_ESCAPES} run"),
    "branch": Program("plain", f"{_GIT_ESCAPES} --edit-description"),
    "bundle": Program("any", f"{_GIT_ESCAPES} create"),
    "config": Program("any", _GIT_ESCAPES),
    "checkout-index": Program("any", f"{_GIT_ESCAPES} --prefix"),
    "clone": Program("any", f"{_GIT_ESCAPES} -u -c --config --template", "bjo"),
    "fast-export": Program("any", f"{_GIT_ESCAPES} --export-marks"),
    "format-patch": Program("any", f"{_GIT_ESCAPES} -o --output-directory"),
    "grep": Program("plain", f"{_GIT_ESCAPES} -O", "efmABC"),
    "init": Program("any", f"{_GIT_ESCAPES} --template --separate-git-dir"),
    "interpret-trailers": Program("any", f"{_GIT_ESCAPES} --in-place"),
    "maintenance": Program("any", f"{_GIT_ESCAPES} start register"),
    "merge-file": Program("any", f"{_GIT_ESCAPES} #"),
    "read-tree": Program("any", f"{_GIT_ESCAPES} --index-output"),
    "rebase": Program("any", f"{_GIT_ESCAPES} -x -s --strategy", "XC"),
    "replace": Program("any", f"{_GIT_ESCAPES} -e --edit"),
    "submodule": Program("any", f"{_GIT_ESCAPES} foreach --template"),
    "worktree": Program("any", f"{_GIT_ESCAPES} add"),
}

PROGRAMS: Mapping[str, Program] = {
    **{name: Program("plain") for name in _PLAIN.split()},
    **{name: Program("code") for name in _CODE.split()},
    **{name: Program("any", scripted=True) for name in _SCRIPTED.split()},
    **{name: _UNKNOWN for name in SHELLS},
    **{name: _RUNS for name in RUNNERS},
    **dict.fromkeys(("cc", "gcc", "g++", "c++", "cpp", "clang", "clang++", "gfortran"), _CC),
    "ack": Program("any", "--pager --ackrc --output"),
    "ag": Program("plain", "--pager", "ABCGgmpW"),
    "bat": Program("any", "--pager"),
    "batcat": Program("any", "--pager"),
    "cargo": Program(
        "any",
        _CARGO.escapes,
        means=_CARGO.escapes,
        subcommands=dict.fromkeys(("bench", "build", "check", "clippy", "doc", "test"), _CARGO),
    ),
    "cpio": Program("any", "--rsh-command"),
    "csplit": Program("any"),
    "curl": Program(
        "any",
        "-o -O -K -c -D -J --output --output-dir --remote-name --remote-name-all --config "
        "--cookie-jar --dump-header --trace --trace-ascii --stderr --libcurl --etag-save --hsts "
        "--alt-svc --engine --remote-header-name --ssl-sessions --unix-socket "
        "--abstract-unix-socket --expand- -w@ --write-out@ *%output{* *pkcs11:*",
        "AbCdeEFHmPQrtTuUwxXyYz",
    ),
    "date": Program("plain", "-s --set", "dfrI"),
    "export": Program("plain"),
    "fd": Program("plain", "-x -X --exec --exec-batch", "cdeEjoSt"),
    "fdfind": Program("plain", "-x -X --exec --exec-batch", "cdeEjoSt"),
    "file": Program("plain", "-C --compile", "eFfmP"),
    "find": Program("plain", "-delete"),
    "git": Program(
        "any",
        f"{_GIT_ESCAPES} -O",
        subcommands=_GIT,
        leading="-C --namespace --attr-source --super-prefix",
        means="-c --config-env --exec-path --git-dir --work-tree",
    ),
    "go": Program(
        "any",
        _GO.escapes,
        means=_GO.escapes,
        subcommands=dict.fromkeys(("build", "list", "test", "vet"), _GO),
    ),
    "jq": Program("plain"),
    "less": Program("any", "+ -o -O -k -K --log-file --LOG-FILE --lesskey-file --lesskey-src"),
    "man": Program("any", "-P -H -C -X --pager --html --config-file --gxditview"),
    "more": Program("any", "+"),
    "nmap": Program("any", "--script --datadir -oN -oG -oX -oA -oS"),
    "rg": Program("plain", "--pre --hostname-bin", "ABCEdefgjmMrtT"),
    "rsync": Program(
        "any",
        "-e -M --rsh --rsync-path --remote-option --config --daemon --log-file --write-batch "
        "--only-write-batch",
        "BfT@",
    ),
    "ruff": Program("plain", "-o --output-file"),
    "scp": Program("any", "-S -o -F -J -D", "cilP"),
    "sed": Program("plain", "-i -I -f --in-place --file s///", "e"),
    "sftp": Program("any", "-S -b -o -F -J -D -s", "BciPRl"),
    "shuf": Program("plain", "-o --output", "in"),
    "sort": Program("plain", "-o --output --compress-program", "kStT"),
    "split": Program("any", "--filter"),
    "sqlite3": Program(
        "any", "-cmd -init -A -Ac -Au -Ax .x *edit(* *writefile(* *load_extension(*"
    ),
    "tar": Program(
        "any",
        "-F -I -T --checkpoint-action --files-from --index-file --info-script "
        "--new-volume-script --rmt-command --rsh-command --to-command --use-compress-program",
        "bCfgHKLNVX",
        bare=True,
    ),
    "tcpdump": Program("any", "-z -w", "BcCFGijmMrsTVyZ"),
    "tree": Program("plain", "-o -R", "HILP"),
    "uniq": Program("plain", "#", "fsw"),
    "vi": Program("any", "+ -c -S -s -u -U -w -W --cmd"),
    "view": Program("any", "+ -c -S -s -u -U -w -W --cmd"),
    "vim": Program("any", "+ -c -S -s -u -U -w -W --cmd"),
    "wget": Program(
        "any",
        "-e -o -O -a -P --execute --use-askpass --config --output-document --output-file "
        "--append-output --directory-prefix --save-cookies --hsts-file --warc- --rejected-log",
        "ABDIQRTUXiltw",
    ),
    "xxd": Program("plain", "#", "cglnosR"),
    "zip": Program("any", "-T --test --unzip-command", "bnti"),
}

_VERSION = re.compile(r"(?<=[a-z+])-?\d[\d.]*$")
_SYSTEM = re.compile(r"/(?:usr/(?:local/)?|opt/homebrew/)?s?bin/[^/]+")


def program_of(name: str) -> Program:
    """The facts about a program by its name without folders; ``git-log`` is ``git log``."""
    known = PROGRAMS.get(name)
    if known is not None:
        return known
    name = name.lower()  # some systems find ENV where env is meant
    if name.startswith("git-"):
        return _GIT.get(name[4:], PROGRAMS["git"])
    like = PROGRAMS.get(name) or PROGRAMS.get(_VERSION.sub("", name), _UNKNOWN)
    return like if like.kind == "any" else _UNKNOWN  # ls2 may be anything


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command may do with any arguments after its first ``words`` words."""

    kind: Kind
    words: int


def reach_of(words: Sequence[str]) -> Reach:
    """How far a rule reaches that has these words, without quotes, before its wildcard."""
    name = words[0].rpartition("/")[2]
    program = program_of(name)
    found = Reach(program.kind, 1)
    subcommands = program.subcommands or {}
    if len(words) > 1:
        if words[1] in subcommands:
            found = Reach(subcommands[words[1]].kind, 2)
        elif program.scripted and words[1] == "-m" and "".join(words[2:3]) in _MODULES:
            found = Reach("code", 3)
        elif (program.scripted or name in SHELLS) and _SCRIPT.fullmatch(words[1]):
            found = Reach("code", 2)
    if "/" in words[0] and not _SYSTEM.fullmatch(words[0]):  # its name says little about it
        if words[0].startswith("/") or ".." in words[0]:
            return Reach("any", 1)
        if program is _UNKNOWN or found.kind == "plain":
            return Reach("code", 1)
    return found


_SCRIPT = re.compile(r"(?!-)[\w./-]+", re.A)
