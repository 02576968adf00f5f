"""Official clients of Amazon SES and Resend, unchanged but for the address. Prints what they answered as JSON."""

import json
import os
import sys

URL, KEY, TO = (os.environ.get(name, "") for name in ("PROVIDERS_URL", "MAYFLY_KEY", "RECIPIENT"))
SES = {"endpoint_url": f"{URL}/ses", "region_name": "us-east-1", "aws_secret_access_key": "any"}
FROM = "Größe <shop@acme.example>"


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
    return {"ids": [sent["MessageId"], raw["MessageId"]], "code": code, "quota": client.get_send_quota()["MaxSendRate"]}


def boto3_sesv2():
    import boto3

    client = boto3.client("sesv2", aws_access_key_id=KEY, **SES)
    content = {"Simple": {"Subject": {"Data": "Grüße"}, "Body": {"Text": {"Data": "Your code is 482913"}}}}
    sent = client.send_email(FromEmailAddress=FROM, Destination={"ToAddresses": [TO]}, Content=content)
    try:
        client.get_email_template(TemplateName="unknown")
    except client.exceptions.NotFoundException as error:
        code = error.response["Error"]["Code"]
    return {"ids": [sent["MessageId"]], "code": code, "enabled": client.get_account()["SendingEnabled"]}


def resend_sdk():
    import resend

    resend.api_url, resend.api_key = f"{URL}/resend", KEY
    mail = {"from": FROM, "to": [TO], "subject": "Grüße", "text": "Your code is 482913"}
    attachment = {"filename": "a.txt", "content": list(b"attached")}
    sent = resend.Emails.send({**mail, "attachments": [attachment]}, {"idempotency_key": "python"})
    again = resend.Emails.send({**mail, "attachments": [attachment]}, {"idempotency_key": "python"})
    batch = resend.Batch.send([mail])
    got = resend.Emails.get(sent["id"])
    resend.api_key = "re_wrong"
    try:
        resend.Emails.send(mail)
    except resend.exceptions.ResendError as error:
        code = [error.code, error.error_type]
    return {
        "ids": [sent["id"], batch["data"][0]["id"]],
        "again": again["id"],
        "subject": got["subject"],
        "code": code,
    }


def django_settings(backend):
    import django
    from django.conf import settings

    settings.configure(
        EMAIL_BACKEND=f"anymail.backends.{backend}.EmailBackend",
        ROOT_URLCONF="anymail.urls",
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["anymail"],
        ANYMAIL={
            "AMAZON_SES_CLIENT_PARAMS": {"aws_access_key_id": KEY, **SES},
            "RESEND_API_URL": f"{URL}/resend/",
            "RESEND_API_KEY": KEY,
            "RESEND_SIGNING_SECRET": os.environ.get("SIGNING_SECRET") or None,
            "WEBHOOK_SECRET": "user:password",
        },
    )
    django.setup()


def anymail(backend):
    django_settings(backend)
    from django.core.mail import EmailMultiAlternatives

    message = EmailMultiAlternatives("Grüße", "Your code is 482913", FROM, [TO], bcc=[f"bcc.{TO}"])
    message.attach_alternative("<p>482913</p>", "text/html")
    message.attach("a.txt", "attached", "text/plain")
    message.tags, message.metadata = ["welcome"], {"order": "7"}
    message.send()
    return {"ids": [message.anymail_status.message_id], "status": list(message.anymail_status.status)}


def anymail_webhook(backend):
    """Posts the event of stdin to the view of the provider. Prints what an application sees of it."""
    django_settings(backend)
    from anymail.signals import inbound, tracking
    from django.test import Client

    seen = []
    tracking.connect(
        lambda event, **_: seen.append([event.event_type, event.recipient, event.message_id, event.tags]), weak=False
    )
    inbound.connect(lambda event, **_: seen.append([event.message.subject, event.message.text]), weak=False)
    posting = json.load(sys.stdin)
    headers = {**posting["headers"], "authorization": "Basic dXNlcjpwYXNzd29yZA=="}
    response = Client().post(
        f"/{backend}/{posting['view']}/", posting["body"], content_type=headers.pop("content-type"), headers=headers
    )
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


RUNS = {
    "boto3_ses": boto3_ses,
    "boto3_sesv2": boto3_sesv2,
    "resend": resend_sdk,
    "anymail_ses": lambda: anymail("amazon_ses"),
    "anymail_resend": lambda: anymail("resend"),
    "validate_sns": validate_sns,
    "webhook_ses": lambda: anymail_webhook("amazon_ses"),
    "webhook_resend": lambda: anymail_webhook("resend"),
}
print(json.dumps(RUNS[sys.argv[1]]()))
