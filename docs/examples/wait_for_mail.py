import json
import os

import requests

API = os.environ.get("API", "http://127.0.0.1:8025")


def wait_for_mail(inbox, timeout_seconds=20, **match):
    """Return one message that matches; fail with the server's error or its explanation."""
    response = requests.post(
        f"{API}/v1/inboxes/{inbox['id']}/wait",
        headers={"Authorization": f"Bearer {inbox['token']}"},
        json={"match": match, "timeoutSeconds": timeout_seconds},
        timeout=timeout_seconds + 10,
    )
    assert response.ok, f"The wait failed with status {response.status_code}: {response.text}"
    answer = response.json()
    assert answer["matched"], f"No message matched: {json.dumps(answer['explanation'], indent=2)}"
    return answer["messages"][0]
