import asyncio
import os
from email.message import EmailMessage

import aiosmtplib

message = EmailMessage()
message["From"] = "Café Größe <hello@shop.example>"
message["To"] = os.environ["MAIL_TO"]
message["Subject"] = "Grüße: 482910 ist Ihr Code 🎉"
message.set_content("Grüße! Ihr Code ist 482910.")
message.add_alternative("<p>Grüße! Ihr Code ist <b>482910</b>.</p>", subtype="html")
with open("invoice.pdf", "rb") as file:
    message.add_attachment(file.read(), maintype="application", subtype="pdf", filename="invoice.pdf")

asyncio.run(
    aiosmtplib.send(
        message,
        hostname=os.environ["SMTP_HOST"],
        port=int(os.environ["SMTP_PORT"]),
        username=os.environ.get("SMTP_USER"),
        password=os.environ.get("SMTP_PASSWORD"),
    )
)
