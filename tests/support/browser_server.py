"""An MCP server of the official SDK that starts a browser, as those do that drive one.

Run as a script with the browser and a folder for its profiles. The browser is in a session of its
own, and a call never ends.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.request import urlopen

from mcp.server.mcpserver import MCPServer

server = MCPServer("browser")
BROWSER, FOLDER = sys.argv[1], Path(sys.argv[2])
PAGE = "data:text/html,<title>there</title><iframe src='data:text/html,inside'></iframe>"


@server.tool()
def browse() -> str:
    """Open a page; files say that the browser has ``begun``, and the page is ``ready``."""
    profile = Path(tempfile.mkdtemp(dir=FOLDER))
    options = ("--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--no-first-run")
    subprocess.Popen(
        [BROWSER, *options, f"--user-data-dir={profile}", PAGE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    (FOLDER / "begun").touch()
    port = profile / "DevToolsActivePort"
    while not (port.exists() and "\n" in port.read_text()):
        time.sleep(0.02)
    address = f"http://127.0.0.1:{port.read_text().split()[0]}/json/list"
    while b"there" not in urlopen(address).read():
        time.sleep(0.02)
    (FOLDER / "ready").touch()
    threading.Event().wait()
    return "never"


if __name__ == "__main__":
    server.run("stdio")
