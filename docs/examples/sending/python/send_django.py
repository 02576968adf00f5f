import os

from django.conf import settings
from django.core.mail import EmailMultiAlternatives

# In a project these stand in settings.py.
settings.configure(
    EMAIL_HOST=os.environ["SMTP_HOST"],
    EMAIL_PORT=int(os.environ["SMTP_PORT"]),
    EMAIL_HOST_USER=os.environ.get("SMTP_USER", ""),
    EMAIL_HOST_PASSWORD=os.environ.get("SMTP_PASSWORD", ""),
    EMAIL_USE_TLS=bool(os.environ.get("SMTP_STARTTLS")),
)

message = EmailMultiAlternatives(
    subject="Grüße: 482910 ist Ihr Code 🎉",
    body="Grüße! Ihr Code ist 482910.",
    from_email="Café Größe <hello@shop.example>",
    to=[os.environ["MAIL_TO"]],
)
message.attach_alternative("<p>Grüße! Ihr Code ist <b>482910</b>.</p>", "text/html")
message.attach_file("invoice.pdf")
message.send()
