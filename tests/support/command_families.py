"""Command lines that no pattern with a wildcard may allow, by families.

Each family is a way to have a program run another one, or write where it should not, under
rules that are for something harmless: ``RULES``. Nothing here is ever run.
"""

from __future__ import annotations

from collections.abc import Iterator

PLAIN = """
    cat cd cmp cut date df diff du echo env exit export fd file find grep head id jq less ls man
    mkdir nice nl nohup od ps pwd readlink realpath rg ruff sed shuf sleep sort split stat stdbuf
    tac tail test time timeout touch tr tree true uniq unset wc which xargs xxd ag fdfind
"""
RULES = (
    *(f"run({name} *)" for name in PLAIN.split()),
    *(f"run({name} *)" for name in ("git", "tar", "zip", "rsync", "curl", "wget", "gcc", "go")),
    *(f"run({name} *)" for name in ("cargo", "scp", "ssh", "sftp", "watch", "vim", "sqlite3")),
    "run(scripts/*)",
    "run(bash scripts/a.sh *)",
    "run(python scripts/a.py *)",
    "run(.venv/bin/*)",
    "run(< *)",
    "run(> *)",
    "run([ *)",
)
"""What a person might have allowed with “always”, or in the settings."""

# Options

OPTIONS: dict[str, tuple[str, tuple[str, ...], str]] = {
    # call: (long options, from which letter on a beginning is theirs alone), short ones, a bundle
    "git grep|x": ("--open-files-in-pager:3", ("-O",), "in"),
    "git ls-remote|origin": ("--upload-pack:2 --exec:4", (), ""),
    "git fetch|origin": ("--upload-pack:4", (), ""),
    "git pull|origin": ("--upload-pack:4", (), ""),
    "git push|origin": ("--receive-pack:5 --exec:4", (), ""),
    "git clone|url": ("--upload-pack:2 --config:3 --template:2", ("-u", "-c"), "qn"),
    "git init|there": ("--template:2 --separate-git-dir:3", (), ""),
    "git diff|HEAD": ("--output:6 --ext-diff:3", (), ""),
    "git log|HEAD": ("--output:6 --ext-diff:3", (), ""),
    "git show|HEAD": ("--output:6 --ext-diff:3", (), ""),
    "git archive|HEAD": ("--output:3 --exec:3 --remote:3", ("-o",), "v"),
    "git format-patch|HEAD": ("--output-directory:8", ("-o",), "k"),
    "git rebase|main": ("--exec:3", ("-x",), "i"),
    "git difftool|HEAD": ("--extcmd:3", ("-x",), "y"),
    "git send-email|a": ("--smtp-server:6 --sendmail-cmd:3 --to-cmd:4", (), ""),
    "git fast-export|HEAD": ("--export-marks:3", (), ""),
    "git interpret-trailers|a": ("--in-place:2", (), ""),
    "git checkout-index|a": ("--prefix:2", (), ""),
    "git branch|x": ("--edit-description:2", (), ""),
    "sort|a": ("--output:1 --compress-program:2", ("-o",), "nru"),
    "shuf|a": ("--output:1", ("-o",), "z"),
    "rg|x": ("--pre:3 --hostname-bin:3", (), ""),
    "fd|x": ("--exec:4 --exec-batch:6", ("-x", "-X"), "HIu"),
    "fdfind|x": ("--exec:4 --exec-batch:6", ("-x", "-X"), "HIu"),
    "ag|x": ("--pager:3", (), ""),
    "tree|a": ("", ("-o", "-R"), "ad"),
    "file|a": ("--compile:3", ("-C",), "b"),
    "date|": ("--set:2", ("-s",), "u"),
    "ruff check|a": ("--output-file:3", ("-o",), "q"),
    "man|ls": ("--pager:3 --html:2 --config-file:3", ("-P", "-H", "-C"), "a"),
    "split|a": ("--filter:1", (), ""),
    "sed|1p": ("--in-place:1 --file:2", ("-i", "-f"), "nE"),
    "tar|a.tar": (
        "--checkpoint-action:11 --use-compress-program:3 --to-command:4 --info-script:3 "
        "--new-volume-script:4 --rsh-command:2 --rmt-command:2 --files-from:3",
        ("-I", "-F", "-T"),
        "xv",
    ),
    "zip|a.zip a": ("--unzip-command:3", ("-TT",), "qr"),
    "rsync|a b": ("--rsh:2 --rsync-path:3 --remote-option:4", ("-e", "-M"), "av"),
    "curl|url": (
        "--output:3 --config:3 --cookie-jar:7 --dump-header:3 --trace:3 --libcurl:4 --stderr:4",
        ("-o", "-O", "-K", "-c", "-D"),
        "sSL",
    ),
    "wget|url": ("--use-askpass:5 --execute:3 --output-document:8", ("-e", "-O"), "q"),
    "scp|a b": ("", ("-S", "-o", "-F"), "q"),
    "sftp|host": ("", ("-S", "-b", "-F"), "q"),
    "vim|a": ("--cmd:3", ("-c", "-S", "-u"), "n"),
}


def options() -> Iterator[str]:
    """An option that runs or writes, as programs accept it: shortened, bundled, anywhere."""
    for call, (long, short, bundle) in OPTIONS.items():
        program, _, operand = call.partition("|")
        for one in long.split():
            name, _, least = one.partition(":")
            for length in sorted({int(least), (int(least) + len(name)) // 2, len(name) - 2}):
                begun = name[: length + 2]
                yield f"{program} {begun}=./evil {operand}"
                yield f"{program} {operand} {begun} ./evil"
        for option in short:
            yield f"{program} {option}./evil {operand}"
            yield f"{program} {option} ./evil {operand}"
            yield f"{program} {operand} '{option}./evil'"
            if bundle and len(option) == 2:
                yield f"{program} -{bundle}{option[1]}./evil {operand}"
                yield f"{program} -{bundle}{option[1]} ./evil {operand}"


ONE_DASH = """
    find . -delete
    find . -name x -delete
    gcc -wrapper ./evil a.c
    gcc a.c -wrapper ./evil,--args
    gcc -B. a.c
    gcc -B ./evil a.c
    gcc -fplugin=./evil.so a.c
    gcc -specs=evil a.c
    gcc --specs=evil a.c
    gcc @evil
    go test -exec ./evil
    go test --exec=./evil ./...
    go test ./... -exec=./evil
    go build -toolexec ./evil
    go build --toolexec=./evil .
    go vet -vettool=./evil
    go build -o /etc/x
    go build -overlay=evil.json
    go build -C /tmp .
    go build -ldflags=-extld=./evil
    cargo build --config evil.toml
    cargo test --conf=evil
    cargo --config evil.toml test
    cargo check --manifest-path /tmp/x/Cargo.toml
    cargo test -Zx
    tar cIf ./evil a.tar b
    tar cfI a.tar ./evil b
    tar xTf evil a.tar
    sqlite3 a.db -cmd '.shell ./evil'
    sqlite3 --cmd '.shell ./evil' a.db
    sqlite3 -init evil a.db
    vim +:!./evil a
    vim a '+!./evil'
    less +!./evil a
    less -o log a
    uniq a b
    uniq -c a b
    uniq -- a b
    uniq -f 1 a b
    xxd a b
    xxd -r a b
    curl -w '%output{.profile}x' url
    curl --write-out '%output{.profile}x' url
    ssh host ./evil
    ssh -o ProxyCommand=./evil host
    watch ./evil
"""
GIT_MEANING = """
    git -c alias.p=push p
    git -c core.pager=./evil log
    git -c core.fsmonitor=./evil status
    git -c diff.external=./evil diff
    git --config-env=core.pager=X log
    git --config-env core.pager=X log
    git --exec-path=. status
    git --git-dir=evil status
    git --git-dir evil status
    git --work-tree=/ checkout x
    git -C . -c core.pager=./evil log
    git --no-pager -c core.editor=./evil commit
    git -p -c core.pager=./evil log
    git -C /tmp status
    git -C .. log
    git -C sub/../.. log
    git -C sub -C ../.. log
    git -C ~ log
    git -C $HOME log
    git $x log
    git "$x" log
    git -C "$x" status
    git fetch 'ext::sh -c ./evil'
    git ls-remote ext::./evil
    git clone ext::./evil
    git pull 'fd::7' main
    git remote add x ext::./evil
    git push ext::./evil
    git config core.pager ./evil
    git config --global alias.x '!./evil'
    git config alias.x '!./evil'
    git config --add core.sshCommand ./evil
    git config set core.editor ./evil
    git config --file .git/config core.fsmonitor ./evil
    git config -f a core.pager ./evil
    git config --replace-all core.hooksPath .
    git config --unset core.hooksPath
    git config --edit
    git config -e
    git config edit
    git config --rename-section a b
    git config unset core.hooksPath
    git config --get x --add core.pager $y
    git bisect run ./evil
    git submodule foreach ./evil
    git submodule --quiet foreach ./evil
    git filter-branch --tree-filter ./evil
    git mergetool
    git difftool
    git difftool -y -x ./evil
    git help -a
    git daemon --export-all
    git instaweb
    git hook run pre-commit
    git credential fill
    git merge-index ./evil -a
    git bundle create /tmp/x HEAD
    git maintenance start
    git for-each-repo --config=x status
    git fast-import
    git shell -c x
    git gui
    git web--browse x
    git worktree add ../x
    git-grep -O./evil x
    /usr/bin/git grep -O./evil x
    /usr/lib/git-core/git-grep -O./evil x
"""
SED = """
    sed '1e ./evil' a
    sed e a
    sed -n 'e ./evil' a
    sed '1!e ./evil' a
    sed 's/x/.\\/evil/e' a
    sed 's/x/y/ge' a
    sed 's/x/y/w .git\\/config' a
    sed 's|x|y|w out' a
    sed 'w out' a
    sed '1,5w out' a
    sed '$w out' a
    sed '/x/W out' a
    sed 'r /etc/passwd' a
    sed '1R in' a
    sed -n p -e 'w out' a
    sed -e p -e '1e ./evil' a
    sed --expression='1e ./evil' a
    sed --exp '1e ./evil' a
    sed -ne '1e ./evil' a
    sed -n -e1e\\ ./evil a
    sed -f evil a
    sed -nf evil a
    sed --fil=evil a
    sed -i p a
    sed -ni p a
    sed -i.bak p a
    sed --in-pl p a
    sed -E -i s/a/b/ a
    sed 's/[/]e;s/x/y/' a
    sed 's/a/b/;e ./evil' a
    sed 'p
    e ./evil' a
    sed '{e ./evil
    }' a
    sed ':a;e;ta' a
    sed 's,x,./evil,e' a
    sed 'sxaxbxe' a
    sed "$x" a
    sed $x a
    sed -n "$x" a
    sed -e "1$x" a
    sed -- '1e ./evil' a
    sed -s 1e a
    sed -l 'w out' a
    sed -I .bak p a
    sed 'y/a/b/;e ./evil' a
    sed '0~3e ./evil' a
    sed '/a/,/b/e ./evil' a
    sed 's/a/b/Iew out' a
    sed '1{w out
    }' a
"""

ODD = r"""
    git grep -n -O./evil x
    git grep -e x -O./evil
    git grep -nO x
    git grep -A3 -O./evil x
    git grep --open-files-in-pager x
    git grep --no-index -O./evil x
    git --literal-pathspecs grep -O./evil x
    git --namespace x grep -O./evil x
    git --namespace=x grep -O./evil x
    git --attr-source HEAD grep -O./evil x
    git --super-prefix a grep -O./evil x
    git --bare --no-replace-objects grep -O./evil x
    git -P grep -O./evil x
    git --list-cmds=main grep -O./evil x
    git rebase --ex ./evil main
    git rebase -ix ./evil main
    git rebase -fx./evil main
    git log --exec=./evil
    git log --outp=x
    git diff --ou=x
    git diff -O x --out x
    git show --ext
    git fetch --upl ./evil
    git fetch --upload-pack ./evil o
    git clone --conf x=y u
    git clone --templ=/tmp/x u
    git clone -qu ./evil u
    git clone -b x -u ./evil u
    git archive --remote=ext::x
    git archive -vo x HEAD
    git apply --unsafe-paths p
    git credential-store get
    git stash show -p --ext-diff
    git blame --output=x a
    git shortlog --output=x
    git rev-list --output=x
    git diff-tree --output=x HEAD
    git diff-files --output x
    git range-diff --output=x a b
    git difftool--helper x
    git config get core.x --url=y -f x
    git config list --file=x
    git config --get core.pager --file x
    git config a.b c.d
    git config --type=path core.pager ./evil
    git config --local core.pager ./evil
    git config --bool core.bare true
    git config --null --list -e
    sort --out=x a
    sort --compress=./evil a
    sort -uo x a
    sort -k 1 -o x
    sort +1 -o x
    sort -- -o x
    sort -S 1 -- -o x
    rg --pr ./evil x
    rg --pre=./evil x
    rg -e x --pre ./evil
    rg -ex --pre ./evil
    rg -A1 --hostname-bin=./evil x
    fd -HIx ./evil
    fd -e x -x ./evil
    fd x --exec ./evil
    fd x -tf -X ./evil
    find . -name a -o -delete
    find . -newer x -exec ./evil ;
    find . -execdir ./evil ;
    find -exec sort -o x {} +
    find . -exec git grep -O./evil {} +
    find . -fls .git/config
    find . -fprintf .git/config %p
    find . -fprint0 /etc/x
    tar xf a --to-command=./evil
    tar --to-com ./evil -xf a
    tar -xf a -I./evil
    tar xvIf ./evil a
    tar --use=./evil -xf a
    tar -x --file=a --use-comp=./evil
    tar x --checkpoint-action exec=./evil
    tar cf a b --checkpoint --checkpoint-ac=exec=./e
    tar -cf a -T list
    tar czfT a list
    tar --rmt=./e -tf h:x
    zip a b -TT ./e
    zip -qTT ./e a b
    zip -T -TT./e a b
    zip a b --unzip-com ./e
    rsync -avze ./evil a b
    rsync -e./evil a b
    rsync --rs=./e a b
    rsync --rsync-p=./e a b
    rsync -aM--rsync-path=./e a b
    curl -Ko x u
    curl -sK x u
    curl --conf x u
    curl -vo x u
    curl -#o x u
    curl --create-dirs --out x u
    curl --output-d x -O u
    curl --remote-name-a u
    curl -OJ u
    curl -c x u
    curl -D- u
    curl --trace-a x u
    curl --engin x u
    curl -w @f u
    curl -w@f u
    curl -sw@f u
    curl u -Lsw @f
    curl -w "$f" u
    curl --write-out @f u
    curl --write-o=@f u
    curl --wri @f u
    curl --expand-output '{{x}}' u
    curl --expand-conf x u
    curl --variable x@f --expand-w '{{x}}' u
    curl --unix-socket /run/docker.sock http://x/containers/create
    curl --unix-s x u
    curl --abstract-unix x u
    curl --ssl-sess x u
    curl -E 'pkcs11:object=x;module-path=/tmp/e.so' u
    curl --key 'pkcs11:x?module-path=./e.so' u
    curl --alt-s x u
    curl --hst x u
    wget --warc-file=x u
    wget --warc-f x u
    wget --append-out=x u
    wget --directory-p /tmp u
    wget --save-c x u
    wget --hsts-f x u
    wget --rejected-l=x u
    wget -t3 -a x u
    git pull -s evil
    git pull -qs evil origin x
    git pull --strat=evil
    git pull origin x --strategy evil
    git merge -s evil x
    git merge -qsevil x
    git merge x --strategy=evil
    git rebase -s evil main
    git rebase -qs evil main
    git rebase --strategy evil main
    git cherry-pick --strateg evil x
    git revert --strategy=evil x
    git read-tree --index-out=.git/hooks/x HEAD
    git pack-objects --all .git/x
    git replace --edit x
    rsync --log-f=x a b
    rsync --write-b=x a b
    rsync --only-w=x a b
    rsync --daemon
    sqlite3 a.db '.shell id'
    sqlite3 a.db ' .system id'
    sqlite3 a.db 'select 1' '.output x'
    sqlite3 a.db "select writefile('x', 'y')"
    sqlite3 a.db "select load_extension('./e')"
    wget -qO x u
    wget --use-ask ./e u
    wget -e use_askpass=./e u
    wget -P/tmp u
    wget --output-doc=x u
    sed -n -e p -f x a
    sed --expr=w\ out a
    sed -Ene 'w x' a
    sed -nEf x a
    sed -Ei s/a/b/ a
    sed -n '1!w x' a
    sed 's/a/b/w x' a
    sed 's/a/\ne .\/evil/;s/b/c/e' a
    sed 'sea.bec.ee' a
    sed '/a/s//b/e' a
    sed --posix '1e' a
    sed 's/a/b/;#' a
    sed '1,5!e x' a
    sed 's/a/b/ ; w x' a
    sed '1 w x' a
    sed --sandbox 'w x' a
    man -P./e ls
    man --pag=./e ls
    man -Hx ls
    man -aP ./e ls
    vim -es +q
    vim -u x a
    vim -nes x a
    sqlite3 -batch -cmd .x a
    gcc -wrapper=./e a.c
    gcc -Bx a.c
    gcc -O2 -fplugin=./x a.c
    gcc -pipe @x
    go test -exec=./e
    go test ./... --exec ./e
    go build -mod=mod -o x
    go -C /tmp build
    go run -exec ./e .
    cargo +nightly --config x build
    cargo -Zx build
    cargo --offline test --config=x
    ssh -V
    scp -qS ./e a b
    scp -3o x a b
    split --fil=./e a
    split -b1 --filter ./e a
    split --filter=./e
    tree -ao x
    tree --noreport -o x
    uniq -ci a b
    uniq --count a b
    xxd -p a b
    shuf -eo x a
    date -us 0
    date --se=0
    file -bC
    file -m x -C
    ag --page ./e x
    ruff check --output-f=x
    ruff format -o x
    env GIT_PAGER=./e git log
    env -u A B=1 git log
    timeout 5 env PATH=. git log
    xargs git log
    xargs -I{} git grep {} x
    xargs -n1 rg
    echo | xargs -a x sort
    for f in -O./e; do git grep "$f" x; done
    git grep ${X:--O./evil} x
    git grep "${X}" x
    git grep -n -- "$y"
    git grep 'a'$y
    git grep "a"$y
    git grep "$(echo '"')"$x'a'
    git grep $'-O./e' x
    git grep $"-O./e" x
    git grep -O\./e x
    git grep -"O./e" x
    git grep '-'O./e x
    git grep {-O./e,x}
    git grep ?O./e x
    git grep [-]O./e x
    git "grep" '-O./e' x
    g\it grep -O./e x
    "git" grep -O./e x
    /usr/bin/git grep -O./e x
    ./git grep x
    scripts/x; cd ..; scripts/x
    cd scripts && ./x
    cd scripts; ../x
    cd "" && scripts/x
    command -v scripts/../x
    exec scripts/../x
    exec -a scripts/x ./x
    scripts/..//..//x
    scripts/x/../../x
    scripts/$x
    scripts/{x,../x}
    scripts/*
    scripts/"../x"
    scripts/'..'/x
    .venv/bin/../../scripts/../x
    bash scripts/a.sh/../../x
    bash -x scripts/a.sh
    bash -- scripts/a.sh
    bash -o posix scripts/a.sh
    bash scripts/a.sh; bash x
    bash < scripts/a.sh
    source scripts/a.sh
    . scripts/a.sh
    python scripts/a.py/../x
    python -u scripts/a.py
    python < scripts/a.py
    python scripts/a.pyc
    PYTHONPATH=x python scripts/a.py
    ls > sub/../../x
    ls > scripts/../.git/x
    ls >| /etc/x
    ls &> ../x
    ls 3<> ../x
    ls <> ../x
    cat <../x
    cat <<< $(./evil)
    [ -n "$(./evil)" ]
    [ a = `./evil` ]
    [[ -n $(./evil) ]]
    echo ${x:-$(./evil)}
    echo $((1 + $(./evil)))
    echo "${x:-`./evil`}"
    test -v 'a[$(./evil)]'
    printf %s "$(./evil)"
    time ./evil
    time -p ./evil
    ! ./evil
    coproc ./evil
    nohup ./evil &
    setsid ./evil
    stdbuf -o0 ./evil
    nice -n5 ./evil
    env - ./evil
    env -- ./evil
    env A=B -- ./evil
    xargs -r ./evil
    xargs -0 -P4 ./evil
    xargs --verbose ./evil
    xargs --arg-file=x ./evil
    export PATH=.:$PATH
    export 'PATH=.'
    export "PATH=."
    export PA"TH=."
    export $x
    readonly PATH=.
    unset 'a[$(./evil)]'
    wait $x
    less +!x a
    watch ls
    jobs -x ./evil
"""

# Variables

VARIABLES = """
    GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER PAGER LESSOPEN LESSCLOSE LD_PRELOAD
    LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES PATH BASH_ENV ENV PS4 PROMPT_COMMAND SHELLOPTS
    EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS GIT_PROXY_COMMAND
    GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_DIR GIT_TEMPLATE_DIR
    TAR_OPTIONS RSYNC_RSH MANPAGER MANROFFOPT RIPGREP_CONFIG_PATH PYTHONPATH PYTHONSTARTUP
    NODE_OPTIONS PERL5OPT PERL5LIB RUBYOPT JAVA_TOOL_OPTIONS MAKEFLAGS CC GOFLAGS RUSTC_WRAPPER
    CARGO_HOME HOME XDG_CONFIG_HOME CDPATH IFS TMPDIR GCONV_PATH http_proxy ALL_PROXY
"""
WAYS = (
    "{}=./evil git fetch",
    "{}=./evil; git status",
    "export {}=./evil; git log",
    "{}=./evil && export {} && git log",
    "env {}=./evil git fetch",
    "env -i {}=./evil git fetch",
    "readonly {}=./evil; git log",
    "{}+=:./evil git fetch",
    "for {} in ./evil; do git fetch; done",
)


def variables() -> Iterator[str]:
    """A variable that changes what a program runs, in front of a program that is allowed."""
    for name in VARIABLES.split():
        yield from (way.replace("{}", name) for way in WAYS)


# Words that are only known when the line runs

UNKNOWN = ("$x", '"$x"', "a$x", "${x}", "$@", '"$@"', "$(cat o)", "`cat o`", "*", "*.py", "{a,b}", "?x")  # fmt: skip
TELLS = """
    git grep x|git log|git diff|git fetch|git ls-remote|git show HEAD|sort|rg x|fd x|ag x|shuf
    tree|file|date|sed|tar xf a|rsync a b|curl url|wget url|man|go test|cargo test|scp a|ruff check
"""


def unknown() -> Iterator[str]:
    """A variable, a glob or a substitution that may become such an option."""
    for line in TELLS.split("\n"):
        for call in filter(None, line.strip().split("|")):
            yield from (f"{call} {word}" for word in UNKNOWN)
            yield f"echo -x | xargs {call}"
            yield f"for x in -O./evil; do {call} $x; done"


# Places

PLACES = """
    scripts/../../x
    scripts/../x
    ./scripts/../x
    scripts/./../x
    scripts//../x
    scripts/sub/../../x
    scripts/../../../../../../bin/sh
    scripts/../../../../../../usr/bin/env
    /etc/../tmp/x
    scripts/out
    scripts/away/x
    scripts/away/../x
    ./scripts/out
    scripts/./out
    scripts/sub/../out
    .venv/bin/../../x
    .venv/bin/out
    bash scripts/../a.sh
    bash scripts/b.sh
    bash ./scripts/../scripts/../a.sh
    bash -e scripts/a.sh
    python scripts/../a.py
    python scripts/b.py
    python -i scripts/a.py
    python ./scripts/../x/a.py
    cd sub && scripts/x
    cd sub; bash scripts/a.sh
    cd sub && python scripts/a.py
    (cd sub; scripts/x)
    cd sub && ../scripts/../x
    cd .. && scripts/x
    cd /tmp && scripts/x
    cd / && ls
    cd ~ && ls
    cd && ls
    cd - && scripts/x
    cd $x && scripts/x
    cd "$x"; scripts/x
    cd -P /tmp; ls
    cd sub/../.. && ls
    cd sub && cd ../.. && ls
    cd scripts/away && ls
    cd scripts/away/.. && ls
    cd $(pwd) && scripts/x
    pushd /tmp && scripts/x
    pushd sub; popd; scripts/x
    command cd /tmp && scripts/x
    builtin cd /tmp; scripts/x
    if cd /tmp; then scripts/x; fi
    for d in a b; do cd ..; scripts/x; done
    while cd sub; do scripts/x; done
    f() { cd sub; }; f; scripts/x
    env -C /tmp scripts/x
    env --chdir=/tmp scripts/x
    find . -execdir scripts/x {} +
    find sub -execdir scripts/x ;
    find . -okdir ./scripts/x {} +
    sh -c 'cd sub; scripts/x'
    eval cd sub; scripts/x
    cd sub & scripts/../x
    ls > ../x
    ls > /etc/x
    ls > scripts/away/x
    cd sub && ls > x
    ls >> .git/hooks/post-commit
    ls > .git/config
    ls 2> .agents/permissions.yaml
    cat < /etc/passwd
    cat < ../x
"""

# Leads: what leads from a harmless line to another program

LEADS = (
    "{}", "ls; {}", "ls && {}", "ls || {}", "ls | {}", "ls & {}", "ls\n{}", "({})", "{{ {}; }}",
    "! {}", "if {}; then ls; fi", "if ls; then {}; fi", "while {}; do ls; done",
    "for f in a; do {}; done", "case a in a) {};; esac", "f() {{ {}; }}; f", "echo $({})",
    'echo "$({})"', "echo `{}`", "cat <({})", "ls > >({})", "x=$({})", "nohup {}", "nice {}",
    "nice -n 5 {}", "timeout 5 {}", "timeout -k 1 5 {}", "time {}", "env {}", "env -i {}",
    "stdbuf -oL {}", "xargs {}", "ls | xargs -n 1 {}", "find . -exec {} \\;", "find . -ok {} \\;",
    "find . -name a -exec {} +", "command {}", "cat <<E\n$({})\nE", "env nice nohup {}",
)  # fmt: skip
LED = (
    "./evil", "sh evil", "bash -c ./evil", "git grep -O./evil x", "sort -o .profile a",
    "git -c alias.x=y x", "rg --pre ./evil x", "fd -x ./evil", "tar xIf ./evil a", "python -c x",
    "perl -e x", "awk 'BEGIN{{system(1)}}'", "sed 1e a", "vim +q a", "find . -delete", "ssh host x",
)  # fmt: skip


def leads() -> Iterator[str]:
    """Programs that no rule names, or an option as above, behind a program that is allowed."""
    for way in LEADS:
        yield from (way.replace("{}", led).replace("{{", "{").replace("}}", "}") for led in LED)


# What “always” was once offered for, and what it must not cover

PAIRS = """
    tar tf a.tar | tar cf a.tar b --checkpoint=1 --checkpoint-action=exec=./evil
    tar tf a.tar | tar xf a.tar -I ./evil
    sort a | sort -o .profile a
    sort a | sort --compress-program=./evil a
    zip a.zip a | zip a.zip a -T -TT ./evil
    unzip a.zip | unzip -o evil.zip -d .git/hooks
    rsync a b | rsync -e ./evil a host:b
    split a | split --filter=./evil a
    rg x | rg --pre ./evil x
    rg x | rg --pre=./evil x
    fd x | fd -x ./evil
    fd x | fd . --exec-batch ./evil
    go vet ./... | go vet -vettool=./evil ./...
    go test ./... | go test -exec ./evil ./...
    go build ./... | go build -toolexec ./evil ./...
    go run . | go run /tmp/evil.go
    go generate | go generate /tmp/x
    gcc a.c | gcc -wrapper ./evil a.c
    g++ a.cc | g++ -B. a.cc
    clang a.c | clang -fplugin=./evil.so a.c
    make test | make SHELL=./evil test
    make test | make test -f evil.mk
    make test | make --eval='$(shell ./evil)' test
    npm test | npm test --script-shell=./evil
    npm install | npm install ./evil
    npm run build | npm run evil
    npm exec x | npm exec ./evil
    yarn build | yarn evil
    pnpm test | pnpm dlx evil
    cargo build | cargo build --config 'build.rustc-wrapper="./evil"'
    cargo test | cargo test --manifest-path /tmp/evil/Cargo.toml
    cargo install x | cargo install --path /tmp/evil
    vim a | vim a -c '!./evil'
    vi a | vi +!./evil a
    nano a | nano -s ./evil a
    emacs a | emacs --eval x
    sqlite3 a.db .tables | sqlite3 a.db '.shell ./evil'
    psql db | psql db -c '\\! ./evil'
    mysql db | mysql db -e 'system ./evil'
    man ls | man -P ./evil ls
    man ls | man --pager=./evil ls
    sed -n 1p a | sed -n '1e ./evil' a
    sed s/a/b/ a | sed -i s/a/b/ .git/config
    awk '{print}' a | awk 'BEGIN{system("./evil")}'
    git config user.name | git config core.pager ./evil
    git grep x | git grep -O./evil x
    git diff | git diff --output=.profile
    git log | git log --ext-diff
    git fetch | git fetch --upload-pack=./evil
    git clone url | git clone -u./evil url
    git push origin main | git push --receive-pack=./evil origin main
    git push origin main | git push evil-url --all
    git stash | git stash -p
    git submodule status | git submodule foreach ./evil
    git bisect start | git bisect run ./evil
    git worktree list | git worktree add /tmp/x
    git checkout main | git checkout evil -- .
    curl url | curl -o .profile url
    curl url | curl -K evil
    wget url | wget -O .profile url
    find . -name x | find . -exec ./evil +
    find . -name x | find . -delete
    find . -name x | find . -fprint .git/config
    xargs ls | xargs ./evil
    env ls | env ./evil
    env FOO=1 ls | env PATH=. ls
    ssh host ls | ssh -o ProxyCommand=./evil host
    scp a host:b | scp -S ./evil a host:b
    python -c x | python -c y
    python3 a.py | python3 -c y
    python -m pytest | python -m evil
    python -m json.tool a | python -m timeit y
    perl -e x | perl -e y
    ruby a.rb | ruby -e y
    node a.js | node -e y
    php a.php | php -r y
    lua a.lua | lua -e y
    docker ps | docker run -v /:/x alpine ./evil
    docker compose up | docker compose -f evil.yml up
    podman ps | podman run x
    kubectl get pods | kubectl get pods --kubeconfig=evil
    helm list | helm list --post-renderer ./evil
    terraform plan | terraform plan -chdir=/tmp
    ansible-playbook a | ansible-playbook evil
    systemctl status x | systemctl link /tmp/evil.service
    journalctl -u x | journalctl --vacuum-size=1
    less a | less +!./evil a
    more a | more +!./evil a
    tee a | tee .git/hooks/pre-commit
    dd if=a of=b | dd if=a of=.profile
    ln -s a b | ln -sf ./evil .git/hooks/pre-commit
    cp a b | cp ./evil .git/hooks/pre-commit
    mv a b | mv ./evil .git/hooks/pre-commit
    install a b | install ./evil .git/hooks/pre-commit
    chmod +x a | chmod -R 777 .
    rm a | rm -rf .
    busybox ls | busybox sh -c ./evil
    uniq a | uniq a .profile
    xxd a | xxd -r a .profile
    tree | tree -o .profile
    date | date -s 0
    file a | file -C -m evil
    shuf a | shuf -o .profile a
    tcpdump -r a | tcpdump -z ./evil
    nmap host | nmap --script=./evil host
    7z l a | 7z x a -o/
    ar t a.a | ar x a.a
    gdb a | gdb -ex '!./evil' a
    ionice ls | ionice ./evil
    nice ls | nice ./evil
    timeout 5 ls | timeout 5 ./evil
    watch ls | watch ./evil
    time ls | time ./evil
    nohup ls | nohup ./evil
    sudo ls | sudo ./evil
    su -c ls | su -c ./evil
    sh -c ls | sh -c ./evil
    bash a.sh | bash b.sh
    bash -c ls | bash evil
    eval ls | eval ./evil
    source a | source evil
    . ./a | . ./evil
    pip install x | pip install ./evil
    pip list | pip list --python ./evil
    uv run pytest | uv run evil
    uv pip list | uv pip install evil
    npx eslint | npx evil
    poetry run pytest | poetry run evil
    tox -e py | ./tox
    brew list | brew install evil
    apt list | apt install evil
    gem list | gem exec evil
    bundle exec x | bundle exec evil
    gh pr list | gh alias set x '!./evil'
    hg log | hg log --config alias.log=!./evil
    svn info | svn info --config-option x
    jq . a | jq . a > .git/config
    crontab -l | crontab evil
    at -l | at -f evil now
    screen -ls | screen ./evil
    tmux ls | tmux new ./evil
    script a | script -c ./evil
    strace ls | strace ./evil
    flock a ls | flock a ./evil
    setarch ls | setarch ./evil
    openssl version | openssl req -engine ./evil
    gpg --list-keys | gpg --exec-path . --list-keys
    ffmpeg -i a b | ffmpeg -i a .profile
    convert a b | convert a .profile
    pdflatex a | pdflatex --shell-escape evil
    mvn test | mvn exec:exec
    gradle test | gradle -I evil test
    dotnet test | dotnet exec evil
    java -jar a | java -jar evil
    javac a | javac @evil
    mix test | mix run -e x
    mytool check a | mytool run ./evil
    ./tool a | ./other a
    bin/tool a | bin/other a
    /opt/x/tool a | /opt/x/tool --exec ./evil
    cd sub && pwd | cd /tmp && pwd
    cat a | cat a > .git/config
    cmake . | cmake -P evil
    ninja | ninja -f evil
    nix build | nix run evil
    rsync -a a b | rsync -a --rsync-path=./evil a b
    cpio -t | cpio --rsh-command=./evil
    nc host 1 | nc -e ./evil host 1
    socat - a | socat - exec:./evil
    ip a | ip netns exec x ./evil
    mount | mount -o bind a b
    patch a b | patch .git/config b
    strip a | strip -o .profile a
    objcopy a b | objcopy a .profile
    ld a | ld -plugin ./evil a
    as a | as -o .profile a
    emacsclient a | emacsclient -e x
    ed a | ed b
    column a | ./column a
    tsx a.ts | tsx -e x
    deno run a | deno run -A evil
    bun a.js | bun evil
    code . | code --install-extension evil
    open a | open evil
    xdg-open a | xdg-open evil
    git log --oneline | git -C /tmp log
    git status | git -c core.fsmonitor=./evil status
    git status | git --git-dir=evil status
    ruff check | ruff check -o .profile
    ag x | ag --pager ./evil x
"""


def pairs() -> list[tuple[str, str]]:
    """A harmless command, and one that the rule offered for it must not cover."""
    rows = (line.strip().split(" | ", 1) for line in PAIRS.strip().split("\n"))
    return [(first, second) for first, second in rows]


def listed(text: str) -> list[str]:
    return [line[4:] for line in text.split("\n") if line.strip()]


FAMILIES: dict[str, list[str]] = {
    "options": list(options()),
    "options with one dash": listed(ONE_DASH),
    "what git’s words mean": listed(GIT_MEANING),
    "variables": list(variables()),
    "only known when it runs": list(unknown()),
    "places": listed(PLACES),
    "odd spellings": listed(ODD),
    "leads": list(leads()),
}

CALM = """
    git status
    git status -s
    git -C sub log
    git --no-pager log --oneline -n 20
    git diff --stat HEAD~1
    git diff --no-ext-diff -- a.py
    git diff --output-indicator-new=x
    git log --author=me -p -- a.py
    git log --since="$when" --oneline
    git show HEAD:a.py
    git grep -n -e x
    git grep -in x -- '*.py'
    git grep --or x
    git add -A
    git commit -m 'Match more'
    git commit -am x
    git switch -c new
    git checkout -b new
    git fetch --all
    git push -u origin x
    git stash -u
    git config --get user.name
    git config user.name
    git config --list
    git config -l --show-origin
    git branch -a
    git rev-parse HEAD
    git blame -L 1,5 a.py
    git rebase main
    git grep -m1O x
    git grep x -- "$y"
    git grep x"$y"
    git config core.pager
    sort -t o x
    fd -exx y
    shuf -n1o x
    xargs -I{} git grep -- {}
    cd scripts && ../scripts/x
    cd scripts/.. && scripts/x
    scripts\\/x
    git submodule status
    sort a b
    sort -nr -k 2,3 -t , a
    sort -u a -o /dev/null
    rg -n x src
    rg --pre-glob '*.pdf' x
    fd -e py x
    fd -t f
    tar xf a.tar
    tar czf a.tar.gz b
    tar -tvf a.tar
    rsync -av a b
    curl -s url
    curl -fsSL url -o /dev/null -w x
    curl -s -o - url
    curl -s -o /dev/null -w '%{http_code}\\n' url
    curl --write-out '%{json}' -d @a url
    curl -H @a url
    sqlite3 ./a.db 'select 1'
    git pull --rebase origin x
    git merge --squash --stat x
    git merge -m 'Join' x
    git cherry-pick -xs x
    git revert --no-edit x
    wget -q -t 3 -T 5 -O- url
    wget -qO- url
    sed -n 1,200p a
    sed -n '1,200p' a
    sed -n '/def x/,/^$/p' a
    sed 's/a/b/g' a
    sed -E 's/[0-9]+ *//; 5d' a
    sed -e s,a,b, -e '$d' a
    sed --quiet 5p a
    uniq -c a
    uniq -f 1 a
    xxd -l 16 a
    tree -L 2 sub
    date +%F
    date -u -d yesterday +%s
    file -b a
    find . -name '*.py' -type f
    find . -type f -exec grep x {} +
    ls *.py
    wc -l *.py
    cat "$x"
    grep -rn "$x" .
    for f in *.py; do wc -l "$f"; done
    ls | xargs wc -l
    scripts/x a
    ./scripts/x
    scripts/sub/../x
    bash scripts/a.sh b
    bash ./scripts/a.sh
    python scripts/a.py --fast
    python ./scripts/a.py
    .venv/bin/tool a
    cd sub && ../scripts/x
    cd sub && ls
    cd sub && cat a | head
    cd . && scripts/x
    ls > out.txt
    ls 2>/dev/null
    git log | head -5
    echo a | tr a b
    timeout 5 git fetch
    env git status
    vim a
    go test ./...
    go build .
    cargo test x
    gcc -Wall -O2 a.c
"""
"""What those rules are for: it stays allowed."""
