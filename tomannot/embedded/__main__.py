"""The keeper: ``python -m tomannot.embedded STATE_DIRECTORY LOCK_FD LINGER`` (started by ``provide()`` only).

It detaches, sleeps until no user of the servers is alive, stops them and ends.
"""

import logging
import os
import signal
import sys
import time
from pathlib import Path

from tomannot.embedded.locks import FileLock
from tomannot.embedded.postgres import Postgres
from tomannot.embedded.redis_server import Redis
from tomannot.embedded.system import server_account

logger = logging.getLogger("tomannot.embedded.keeper")


def keep(var: Path, *, keeper_lock: int, linger: float) -> None:
    """Stop the servers of ``var`` once nobody has used them for ``linger`` seconds.

    ``keeper_lock`` is the open, locked keeper.lock.
    """
    users = FileLock(var / "users.lock")
    is_unused = False
    while not is_unused:
        users.exclusive_whenever()
        users.unlock()
        time.sleep(linger)
        is_unused = users.try_exclusive()
    account = server_account()
    for server in (
        Redis(var, account=account, progress=logger.info),
        Postgres(var, account=account, progress=logger.info),
    ):
        try:
            server.stop()
        except Exception:  # the other server must still be stopped
            logger.exception("%s could not be stopped", server.data)
    os.close(keeper_lock)  # before users.lock: its next holder must see that there is no keeper
    users.close()


def main() -> None:
    var, keeper_lock, linger = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    # The parent's exit tells the starter that all imports worked; the child detaches from the terminal.
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # its work begins after all other processes have ended
    os.umask(0o077)
    log = os.open(var / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    keep(var, keeper_lock=keeper_lock, linger=linger)


if __name__ == "__main__":
    main()
