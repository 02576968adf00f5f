"""SendGrid's client for Python and Django's anymail, unchanged but for the address. Prints what they answered as JSON."""

import base64
import json
import os
import sys

URL, KEY, TO = (os.environ.get(name, "") for name in ("PROVIDERS_URL", "MAYFLY_KEY", "RECIPIENT"))
SECRET = os.environ.get("SIGNING_SECRET") or None
FROM = "Größe <shop@acme.example>"


def sendgrid_sdk():
    from python_http_client.exceptions import UnauthorizedError
    from sendgrid import SendGridAPIClient
    from sendgrid.helpers.mail import Attachment, Content, Mail

    mail = Mail(from_email=("shop@acme.example", "Größe"), to_emails=TO, subject="Grüße")
    mail.content = [Content("text/plain", "Your code is 482913"), Content("text/html", "<p>482913</p>")]
    mail.attachment = Attachment(base64.b64encode(b"attached").decode(), "a.txt", "text/plain")
    sent = SendGridAPIClient(f"SG.{KEY}", host=f"{URL}/sendgrid").send(mail)
    try:
        SendGridAPIClient("SG.wrong", host=f"{URL}/sendgrid").send(mail)
    except UnauthorizedError as error:
        message = error.to_dict["errors"][0]["message"]
    return {"status": sent.status_code, "ids": [sent.headers["x-message-id"]], "message": message}


def django_settings(backend):
    import django
    from django.conf import settings

    settings.configure(
        EMAIL_BACKEND=f"anymail.backends.{backend}.EmailBackend",
        ROOT_URLCONF="anymail.urls",
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["anymail"],
        ANYMAIL={
            "SENDGRID_API_URL": f"{URL}/sendgrid/v3/",
            "SENDGRID_API_KEY": KEY,
            "SENDGRID_TRACKING_WEBHOOK_VERIFICATION_KEY": SECRET,
            "POSTMARK_API_URL": f"{URL}/postmark/",
            "POSTMARK_SERVER_TOKEN": KEY,
            "MAILGUN_API_URL": f"{URL}/mailgun/v3",
            "MAILGUN_API_KEY": KEY,
            "MAILGUN_WEBHOOK_SIGNING_KEY": SECRET or "none",
            **({"WEBHOOK_SECRET": SECRET} if backend == "postmark" and SECRET else {}),
        },
    )
    django.setup()


def anymail(backend):
    django_settings(backend)
    from anymail.exceptions import AnymailAPIError
    from django.core.mail import EmailMultiAlternatives, get_connection

    message = EmailMultiAlternatives("Grüße", "Your code is 482913", FROM, [TO])
    message.attach_alternative("<p>482913</p>", "text/html")
    message.attach("a.txt", "attached", "text/plain")
    message.tags, message.metadata = ["welcome"], {"order": "7"}
    message.send()
    merged = EmailMultiAlternatives("Hi", "Hello", FROM, [TO])
    merged.merge_metadata = {TO: {"order": "8"}}
    merged.send()
    key = {"postmark": "server_token"}.get(backend, "api_key")
    message.connection = get_connection(**{key: "mfk_wrong"})
    try:
        message.send()
    except AnymailAPIError as error:
        refused = error.status_code
    return {"status": list(merged.anymail_status.status), "id": merged.anymail_status.message_id, "refused": refused}


def anymail_webhook(backend):
    """Posts what stdin says to the view of the provider. Prints what an application sees of it."""
    django_settings(backend)
    from anymail.signals import inbound, tracking
    from django.test import Client

    seen = []
    tracking.connect(
        lambda event, **_: seen.append([event.event_type, event.recipient, event.message_id, event.tags, event.metadata]),
        weak=False,
    )
    inbound.connect(
        lambda event, **_: seen.append(
            [
                event.message.subject,
                event.message.text,
                event.message.envelope_recipient,
                event.message["In-Reply-To"],
                [[one.get_filename(), one.get_content_bytes().decode()] for one in event.message.attachments],
            ]
        ),
        weak=False,
    )
    posting = json.load(sys.stdin)
    headers = posting["headers"]
    content_type, body = headers.pop("content-type"), base64.b64decode(posting["body"])
    response = Client().post(f"/{backend}/{posting['view']}/", body, content_type=content_type, headers=headers)
    return {"status": response.status_code, "seen": seen}


run, _, backend = sys.argv[1].partition(":")
print(json.dumps({"sendgrid": sendgrid_sdk, "anymail": anymail, "webhook": anymail_webhook}[run](*filter(None, [backend]))))
