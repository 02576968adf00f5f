import json
import time

import requests


def follow(url, credential):
    """Yield the data of every event once, also over cut connections and restarts of the server."""
    last = None
    while True:
        headers = {"Authorization": f"Bearer {credential}"}
        if last:
            headers["Last-Event-ID"] = last
        try:
            # The server writes at least one line every 15 seconds; silence means a dead connection.
            with requests.get(url, headers=headers, stream=True, timeout=(5, 45)) as response:
                if 400 <= response.status_code < 500 and response.status_code != 429:
                    raise RuntimeError(f"The stream ended with status {response.status_code}: {response.text}")
                block = {}
                for line in response.iter_lines() if response.ok else []:
                    if line:
                        name, _, value = line.decode("utf-8").partition(": ")
                        block[name] = value
                        continue
                    last = block.get("id", last)  # Only now is the event complete.
                    if "data" in block:
                        yield json.loads(block["data"])
                    block = {}
        except requests.RequestException:
            pass  # No connection, or it was cut: resume after the last complete event.
        time.sleep(1)
