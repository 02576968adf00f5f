"""With the client of openapi-python-client.

Arguments: the address of the API, an API key, and host and port for SMTP.
"""

import json
import smtplib
import sys
from email.message import EmailMessage

from mayfly_client import AuthenticatedClient
from mayfly_client.api.inboxes import create_inbox, delete_inbox, delete_inboxes, get_inbox, list_inboxes
from mayfly_client.api.messages import get_attachment, get_message, get_raw_message, wait_for_messages
from mayfly_client.models import (
    CreateInbox,
    DeleteInboxesLabels,
    Labels,
    ListInboxesLabels,
    MessageMatch,
    Problem,
    WaitRequest,
)

base_url, api_key, host, port = sys.argv[1:5]
client = AuthenticatedClient(base_url=base_url, token=api_key, timeout=30)


def ok(result):
    """The result, unless it is a problem document."""
    if result is None or isinstance(result, Problem):
        raise RuntimeError(f"{result.code}: {result.detail}" if result else "no result")
    return result


labels = Labels.from_dict({"run": "python"})
inbox = ok(create_inbox.sync(client=client, body=CreateInbox(ttl_minutes=5, labels=labels)))
other = ok(create_inbox.sync(client=client, body=CreateInbox()))

mail = EmailMessage()
mail["From"] = "Shop <no-reply@shop.example>"
mail["To"] = inbox.address
mail["Subject"] = "Please confirm your address"
mail.set_content("Your code is 482913.")
mail.add_attachment(bytes([0, 255, 128, 10, 13]), maintype="application", subtype="x-terms", filename="terms.bin")
with smtplib.SMTP(host, int(port)) as smtp:
    smtp.send_message(mail)

# `count` may be omitted.
request = WaitRequest(match=MessageMatch(subject="confirm"), timeout_seconds=20)
waited = ok(wait_for_messages.sync(inbox.id, client=client, body=request))
message_id = waited.messages[0].id
message = ok(get_message.sync(inbox.id, message_id, client=client))
raw = ok(get_raw_message.sync(inbox.id, message_id, client=client))
attachment = ok(get_attachment.sync(inbox.id, message_id, message.attachments[0].id, client=client))

listed = ok(list_inboxes.sync(client=client, labels=ListInboxesLabels.from_dict({"label.run": "python"})))
removed = ok(delete_inboxes.sync(client=client, labels=DeleteInboxesLabels.from_dict({"label.run": "python"})))
deleted = delete_inbox.sync_detailed(other.id, client=client)
gone = get_inbox.sync(inbox.id, client=client)

print(
    json.dumps(
        {
            "subject": message.subject,
            "code": message.codes[0].value,
            "rawSize": [len(raw.payload.read()), message.size],
            "attachment": list(attachment.payload.read()),
            "listed": [one.id == inbox.id for one in listed.inboxes],
            "removed": removed.deleted,
            "deleted": deleted.status_code,
            "gone": str(gone.code),
        }
    )
)
