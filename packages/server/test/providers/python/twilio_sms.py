"""Twilio's client for Python, unchanged but for the address, its verifier of signatures, and Google's rules of telephone numbers."""

import base64
import datetime
import json
import os
import sys
from urllib.parse import parse_qsl

ACCOUNT = "AC" + "0a" * 16


def client(key):
    from twilio.rest import Client

    made = Client(ACCOUNT, key)
    made.api.base_url = f"{os.environ['PROVIDERS_URL']}/twilio"
    return made


def send():
    """Prints what the application sees of a sent, a cancelled and a refused message."""
    from twilio.base.exceptions import TwilioRestException

    mine, to = client(os.environ["MAYFLY_KEY"]), os.environ["RECIPIENT"]
    sent = mine.messages.create(to=to, from_="+15005550006", body="Grüße, your code is 482913", media_url=["https://shop.example/a.png"])
    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    later = mine.messages.create(
        to=to, messaging_service_sid="MG" + "1b" * 16, body="Later", schedule_type="fixed", send_at=tomorrow
    )
    cancelled = mine.messages(later.sid).update(status="canceled")
    refused = []
    for other, number in ((client("wrong"), to), (mine, "+15125550199"), (mine, "5125550199")):
        try:
            other.messages.create(to=number, from_="+15005550006", body="Hi")
        except TwilioRestException as error:
            refused.append([error.status, error.code])
    return {
        "sid": sent.sid,
        "statuses": [sent.status, mine.messages(sent.sid).fetch().status, later.status, cancelled.status],
        "created": sent.date_created.isoformat(),
        "refused": refused,
    }


def validate():
    """Whether a request was signed with a token, and whether it would be for another text."""
    from twilio.request_validator import RequestValidator

    request = json.load(sys.stdin)
    validator = RequestValidator(request["token"])
    form = dict(parse_qsl(base64.b64decode(request["body"]).decode(), keep_blank_values=True))
    signature = request["headers"]["x-twilio-signature"]
    return [validator.validate(request["url"], given, signature) for given in (form, {**form, "To": "+1"})]


def numbers():
    """Those that are no valid telephone numbers."""
    import phonenumbers

    return [one for one in json.load(sys.stdin) if not phonenumbers.is_valid_number(phonenumbers.parse(one))]


print(json.dumps({"send": send, "validate": validate, "numbers": numbers}[sys.argv[1]]()))
