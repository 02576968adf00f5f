"""The inbox for coroutines."""

from __future__ import annotations

import asyncio
from typing import Any

from ._inbox import Inbox
from ._message import Message, MessageSummary


class AsyncInbox:
    """The same inbox with methods to be awaited: each runs in a worker thread."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.id = inbox.id
        self.address = inbox.address

    async def wait_for_message(self, **options: Any) -> Message:
        return await asyncio.to_thread(self.inbox.wait_for_message, **options)

    async def wait_for_messages(self, count: int, **options: Any) -> list[Message]:
        return await asyncio.to_thread(self.inbox.wait_for_messages, count, **options)

    async def wait_for_code(self, **options: Any) -> str:
        return await asyncio.to_thread(self.inbox.wait_for_code, **options)

    async def wait_for_link(self, **options: Any) -> str:
        return await asyncio.to_thread(self.inbox.wait_for_link, **options)

    async def expect_silence(self, **options: Any) -> None:
        await asyncio.to_thread(self.inbox.expect_silence, **options)

    async def expect_exactly(self, count: int, **options: Any) -> list[Message]:
        return await asyncio.to_thread(self.inbox.expect_exactly, count, **options)

    async def messages(self, **options: Any) -> list[MessageSummary]:
        return await asyncio.to_thread(self.inbox.messages, **options)

    async def read(self, message_id: str) -> Message:
        return await asyncio.to_thread(self.inbox.read, message_id)
