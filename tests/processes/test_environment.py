"""What child processes get of the environment (P-4)."""

from __future__ import annotations

import os

from studio.processes.environment import EnvironmentOnDemand, child_environment

KEY = "sk-ant-0123456789"


def test_child_environment_has_no_secrets() -> None:
    given = {
        "PATH": "/bin", "HOME": "/h", "PWD": "/h", "OLDPWD": "/", "SSH_AUTH_SOCK": "/s",
        "TOKENIZERS_PARALLELISM": "1", "KEYBOARD": "us", "LANG": "C",
        "ANTHROPIC_API_KEY": KEY, "OPENAI_APIKEY": "a", "GITHUB_TOKEN": "b", "DB_PASSWORD": "c",
        "aws_secret_access_key": "d", "CLIENT_SECRET": "e", "GOOGLE_APPLICATION_CREDENTIALS": "f",
        "NPM_AUTH": "g", "PGPASSWORD": "h", "COPY_OF_IT": KEY, "AWS_ACCESS_KEY_ID": "i",
        "OPENAI_API_KEY_2": "j", "MY_VENDOR": "sk-proj-0123456789", "HEADERS": "x: ghp_0123456789",
    }  # fmt: skip
    assert set(child_environment(given)) == {
        "PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "KEYBOARD",
        "LANG",
    }  # fmt: skip
    assert child_environment()["PATH"] == os.environ["PATH"]


def test_child_environment_judges_values() -> None:
    """P-4: by their form, whatever the variable is called; what programs need always stays."""
    secret = {
        "A": "postgres://ada:hunter2@db/x", "B": "redis://:hunter2@cache", "C": "ada:hunter2@proxy:80",
        "D": "amqp://ada:hun/ter@mq", "E": "Server=db;User Id=sa;Password=hunter2;",
        "F": "AccountName=a;AccountKey=hunter2;", "G": "-Dkeystore.password=hunter2",
        "H": "AUTHORIZATION: basic aHVudGVyMg==", "I": '{"private_key": "hunter2"}',
        "J": "-----BEGIN EC PRIVATE KEY-----\nhunter2", "K": "https://hooks.slack.com/services/T/B/x",
        "L": "https://discord.com/api/webhooks/1/x", "M": "api-key=hunter2", "N": "hf_0123456789",
        "O": "host=db password=hunter2", "P": "xoxb-0123456789", "Q": "ada:hunter2@tcp(db)/x",
    }  # fmt: skip
    plain = {
        "A": "https://host:8080/a@b", "B": "git@host:org/repo", "C": "ssh://git@host:22/x",
        "D": "image:tag@sha256:0123", "E": "http://proxy:3128", "F": "npm:react@18.2.0",
        "G": "unix:path=/run/user/1000/bus", "H": "local/host:@/tmp/.ICE-unix/1,unix/host:/tmp/x",
        "I": "postgres://ada@db/x", "J": "@im=ibus", "K": "di=01;34:ln=01;36", "L": "10:20",
    }  # fmt: skip
    needed = {
        "PATH": "/opt/sk-toolset-1/bin:/bin",
        "LANG": "sk_SK.UTF-8",
        "HOME": "/home/long-name",
    }
    assert child_environment(secret) == {}
    assert child_environment(plain) == plain
    assert child_environment({**needed, "MY_SESSION": "/home/long-name"}) == needed
    assert child_environment(needed, secrets=["sk-toolset-1"]).keys() == {"LANG", "HOME"}


def test_p4_an_environment_on_demand_is_made_once_and_late() -> None:
    made: list[int] = []

    def make() -> dict[str, str]:
        made.append(1)
        return {"PATH": "/bin"}

    environment = EnvironmentOnDemand(make)
    assert not made
    assert {**environment, "LANG": "C"} == {"PATH": "/bin", "LANG": "C"}
    assert environment.get("HOME") is None and len(environment) == 1
    assert made == [1]
