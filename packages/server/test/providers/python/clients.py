"""Clients of providers for Python, unchanged but for the address. Runs the case of the first argument, and prints as JSON what an application sees."""

import base64
import datetime
import json
import os
import sys
from urllib.parse import parse_qsl

URL, KEY, TO = (os.environ.get(name, "") for name in ("PROVIDERS_URL", "MAYFLY_KEY", "RECIPIENT"))
SECRET = os.environ.get("SIGNING_SECRET") or None
SES = {"endpoint_url": f"{URL}/ses", "region_name": "us-east-1", "aws_secret_access_key": "any"}
FROM = "Größe <shop@acme.example>"


def sendgrid():
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
    return {"ids": [sent.headers["x-message-id"]], "error": message}


def boto3_ses():
    import boto3

    client = boto3.client("ses", aws_access_key_id=KEY, **SES)
    body = {"Text": {"Data": "Your code is 482913"}, "Html": {"Data": "<p>482913</p>"}}
    sent = client.send_email(
        Source="shop@acme.example",
        Destination={"ToAddresses": [TO]},
        Message={"Subject": {"Data": "Grüße"}, "Body": body},
    )
    raw = client.send_raw_email(RawMessage={"Data": f"From: a@acme.example\nTo: {TO}\nSubject: raw\n\nHi\n"})
    client.create_template(Template={"TemplateName": "py", "SubjectPart": "Hi {{name}}", "TextPart": "x"})
    client.send_templated_email(
        Source="shop@acme.example",
        Destination={"ToAddresses": [TO]},
        Template="py",
        TemplateData='{"name": "Ada"}',
    )
    try:
        boto3.client("ses", aws_access_key_id="AKIAIOSFODNN7EXAMPLE", **SES).get_send_quota()
    except client.exceptions.ClientError as error:
        code = error.response["Error"]["Code"]
    return {"ids": [sent["MessageId"], raw["MessageId"]], "error": code}


def boto3_sesv2():
    import boto3

    client = boto3.client("sesv2", aws_access_key_id=KEY, **SES)
    content = {"Simple": {"Subject": {"Data": "Grüße"}, "Body": {"Text": {"Data": "Your code is 482913"}}}}
    sent = client.send_email(FromEmailAddress=FROM, Destination={"ToAddresses": [TO]}, Content=content)
    try:
        client.get_email_template(TemplateName="unknown")
    except client.exceptions.NotFoundException as error:
        code = error.response["Error"]["Code"]
    return {"ids": [sent["MessageId"]], "error": code}


def resend():
    import resend

    resend.api_url, resend.api_key = f"{URL}/resend", KEY
    mail = {"from": FROM, "to": [TO], "subject": "Grüße", "text": "Your code is 482913"}
    attachment = {"filename": "a.txt", "content": list(b"attached")}
    sent = resend.Emails.send({**mail, "attachments": [attachment]}, {"idempotency_key": "python"})
    again = resend.Emails.send({**mail, "attachments": [attachment]}, {"idempotency_key": "python"})
    batch = resend.Batch.send([mail])
    resend.api_key = "re_wrong"
    try:
        resend.Emails.send(mail)
    except resend.exceptions.ResendError as error:
        code = error.error_type
    return {"ids": [sent["id"], again["id"], batch["data"][0]["id"]], "error": code}


def twilio():
    """Has its ids, statuses and times, and the errors of a wrong key and of wrong numbers."""
    from twilio.base.exceptions import TwilioRestException
    from twilio.rest import Client

    def client(key):
        made = Client("AC" + "0a" * 16, key)
        made.api.base_url = f"{URL}/twilio"
        return made

    mine = client(KEY)
    media = ["https://shop.example/a.png"]
    sent = mine.messages.create(to=TO, from_="+15005550006", body="Your code is 482913", media_url=media)
    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    later = mine.messages.create(
        to=TO, messaging_service_sid="MG" + "1b" * 16, body="Later", schedule_type="fixed", send_at=tomorrow
    )
    cancelled = mine.messages(later.sid).update(status="canceled")
    refused = []
    for other, number in ((client("wrong"), TO), (mine, "+15125550199"), (mine, "5125550199")):
        try:
            other.messages.create(to=number, from_="+15005550006", body="Hi")
        except TwilioRestException as error:
            refused.append([error.status, error.code])
    statuses = [sent.status, mine.messages(sent.sid).fetch().status, later.status, cancelled.status]
    return {"ids": [sent.sid], "statuses": statuses, "created": sent.date_created.isoformat(), "error": refused}


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
            "AMAZON_SES_CLIENT_PARAMS": {"aws_access_key_id": KEY, **SES},
            "RESEND_API_URL": f"{URL}/resend/",
            "RESEND_API_KEY": KEY,
            "RESEND_SIGNING_SECRET": SECRET,
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
    if backend == "amazon_ses":
        # It merges nothing without a template of SES, and its errors are those of boto3.
        return {"status": list(message.anymail_status.status), "id": message.anymail_status.message_id}
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


def webhook(backend):
    """Posts the event or the mail of stdin to the view of the provider."""
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


def validate_sns():
    """Verifies the SNS message of stdin by the library that knows its SignatureVersion, which fetches the certificate."""
    message = json.loads(json.load(sys.stdin)["body"])
    host = r"^https://localhost:\d+/"
    try:
        if message["SignatureVersion"] == "1":
            from sns_message_validator import SNSMessageValidator

            SNSMessageValidator(cert_url_regex=host).validate_message(message)
        else:
            from aws_sns_verifier import validator

            # It has no setting for the host.
            validator._DEFAULT_CERTIFICATE_URL_REGEX = host
            validator.validate_sns_signature(message, auto_confirm_subscription=False)
    except Exception as error:
        return {"error": type(error).__name__}
    return {"type": message["Type"]}


def validate_twilio():
    """Whether a request was signed with a token, and whether it would be for another text."""
    from twilio.request_validator import RequestValidator

    request = json.load(sys.stdin)
    validator = RequestValidator(request["token"])
    form = dict(parse_qsl(base64.b64decode(request["body"]).decode(), keep_blank_values=True))
    signature = request["headers"]["x-twilio-signature"]
    return [validator.validate(request["url"], given, signature) for given in (form, {**form, "To": "+1"})]


def invalid_numbers():
    """Those of stdin that are no valid telephone numbers by Google's rules."""
    import phonenumbers

    return [one for one in json.load(sys.stdin) if not phonenumbers.is_valid_number(phonenumbers.parse(one))]


case, _, backend = sys.argv[1].partition(":")
print(json.dumps(globals()[case](*filter(None, [backend]))))
