"""Pieces of shell, from which properties of the parser build lines."""

from __future__ import annotations

from hypothesis import strategies as st

PROGRAMS = ("alpha", "beta", "gamma")
PIECES = st.sampled_from(
    [
        "alpha", "beta", "gamma", "alpha x", "beta x", "a", "x", "X=beta", "$X", "'beta'", "be\\ta", "\\\n",
        ";", "&", "&&", "||", "|", "\n", "(", ")", "{", "}", "!", "$(", "`", '"', "'", "\\", "#", " ",
        " ", " ", "<", ">", ">>", "2>", "&>", "<<E", "\nE\n", "<<'E'", "/dev/null", "o", "$", "$'",
        "${X:-beta}", "${X}", "$((", "))", "1", "if ", "then ", "else ", "fi", "while ", "do ", "done",
        "for X in beta", "case x in x) ", "case $X in ", "x) ", "(beta|*) ", ";;", " esac", "in ", "$(case x in x) ",
        "[[ ", " ]]", "-n ", "-f ", "-v ", " == ", " -eq ", "a[$(beta)]", " 1", "'a[$(beta)]'", "X='a[$(beta)]';", "((", "select X in ", "{ ", "@(", "alpha() {", "alpha()", "eval ", "sh -c ",
        "env ", "nohup ", "time ", "timeout 5 ", "nice ", "xargs ", "command ", "exec ", "find . -exec ",
        " \\;", " {} +", "alias alpha=beta", "trap beta EXIT", "[ ", " ]", "*", "~", "=", "PATH=.",
        "printf ", "set -- beta", "$@", "\"$X\"", "false", "true", "echo beta | ", "read X", ". ./o",
    ]
)  # fmt: skip
LINES = st.lists(PIECES, min_size=1, max_size=9).map("".join)
