import os
import smtplib
import ssl
from email.message import EmailMessage

message = EmailMessage()
message["From"] = "Café Größe <hello@shop.example>"
message["To"] = os.environ["MAIL_TO"]
message["Subject"] = "Grüße: 482910 ist Ihr Code 🎉"
message.set_content("Grüße! Ihr Code ist 482910.")
message.add_alternative("<p>Grüße! Ihr Code ist <b>482910</b>.</p>", subtype="html")
with open("invoice.pdf", "rb") as file:
    message.add_attachment(file.read(), maintype="application", subtype="pdf", filename="invoice.pdf")

with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as smtp:
    if os.environ.get("SMTP_STARTTLS"):
        smtp.starttls(context=ssl.create_default_context())
    if os.environ.get("SMTP_USER"):
        smtp.login(os.environ["SMTP_USER"], os.environ["SMTP_PASSWORD"])
    smtp.send_message(message)
