"""Mayfly in a container, for tests that use Testcontainers: pip install pytest-mayfly[testcontainers]."""

from __future__ import annotations

import os
import secrets
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

from ._client import Mayfly
from ._inbox import Inbox

# The official image of Node.js; the server itself comes from npm.
NODE_IMAGE = "node:24-slim"
VERSION = "0.2.0"
HTTP_PORT = 8025
SMTP_PORT = 2525
# Seconds; the first start downloads the server.
STARTUP_TIMEOUT = 120


class MayflyContainer(DockerContainer):
    """A container that runs a Mayfly server, started by `with MayflyContainer() as mayfly:`.

    image: one that starts Mayfly by itself. Default: the image of Node.js, with the server from npm.
    """

    def __init__(self, image: str | None = None, *, api_key: str | None = None, **options: Any) -> None:
        super().__init__(image or NODE_IMAGE, **options)
        self.api_key = api_key or f"testcontainers_{secrets.token_hex(16)}"
        # On every inbox of create_inbox().
        self.run_labels = {"run": os.environ.get("MAYFLY_RUN") or secrets.token_hex(8)}
        if image is None:
            self.with_command(f"npx --yes mayfly@{VERSION} dev")
        self.with_env("MAYFLY_API_KEY", self.api_key)
        self.with_env("MAYFLY_HTTP_HOST", "0.0.0.0")
        self.with_env("MAYFLY_SMTP_HOST", "0.0.0.0")
        self.with_env("MAYFLY_DATA_DIR", "/tmp/mayfly")
        self.with_exposed_ports(HTTP_PORT, SMTP_PORT)
        self.waiting_for(
            HttpWaitStrategy(HTTP_PORT, "/readyz").for_status_code(200).with_startup_timeout(STARTUP_TIMEOUT)
        )

    @property
    def api_url(self) -> str:
        """For MAYFLY_URL."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(HTTP_PORT)}"

    @property
    def smtp_host(self) -> str:
        """For the SMTP settings of an application outside of containers."""
        return str(self.get_container_host_ip())

    @property
    def smtp_port(self) -> int:
        return int(self.get_exposed_port(SMTP_PORT))

    def client(self) -> Mayfly:
        return Mayfly(self.api_url, self.api_key)

    def create_inbox(self, *, labels: dict[str, str] | None = None, **options: Any) -> Inbox:
        """A new inbox with the labels of this run. Options: those of Mayfly.create_inbox()."""
        return self.client().create_inbox(labels={**self.run_labels, **(labels or {})}, **options)
