"""The programs of the topology: their configuration, where they are, and whether they answer."""

from __future__ import annotations

import os
import shutil
import socket
import time

import urllib3

PROGRAMS = ("nginx", "pgbouncer", "caddy", "gcc")
PATIENCE = 90.0
NGINX = """
daemon off;
{user}
worker_processes 1;
pid {here}/nginx.pid;
error_log {here}/logs/nginx-error.log crit;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {here}/nginx-body;
    proxy_temp_path {here}/nginx-proxy;
    fastcgi_temp_path {here}/nginx-fastcgi;
    uwsgi_temp_path {here}/nginx-uwsgi;
    scgi_temp_path {here}/nginx-scgi;
    client_max_body_size 200m;
    upstream web {{
        server 127.0.0.1:{web_1} fail_timeout=1s;
        server 127.0.0.1:{web_2} fail_timeout=1s;
    }}
    server {{
        listen 127.0.0.1:{nginx};
        location {path}/ {{
            proxy_pass http://web;
            proxy_connect_timeout 2s;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }}
    }}
}}
"""
PGBOUNCER = """
[databases]
tomannot = host={sockets} dbname=tomannot user=tomannot
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {pgbouncer}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 12
max_client_conn = 200
server_login_retry = 1
server_connect_timeout = 3
query_wait_timeout = 5
"""


def missing_programs() -> list[str]:
    """Debian's programs that are not installed."""
    return [name for name in PROGRAMS if not _program(name)]


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def status_of(url: str) -> int:
    """The status of an answer, or 0 for none."""
    try:
        return urllib3.request("GET", url, retries=False, timeout=10).status
    except urllib3.exceptions.HTTPError:
        return 0


def required(name: str) -> str:
    """Return the path of a program. Raise AssertionError if it is not installed."""
    found = _program(name)
    assert found, f"{name} is not installed"
    return found


def wait_until(condition: object, failure: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, failure
        time.sleep(0.2)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback address that nobody uses now."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
