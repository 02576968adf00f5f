"""Sends once and prints the exception of smtplib with its reply."""
import smtplib, sys
from email.message import EmailMessage
mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = "app@example.org", sys.argv[2], "Hello"
mail.set_content("Hello.")
try:
    with smtplib.SMTP("127.0.0.1", int(sys.argv[1])) as smtp:
        smtp.send_message(mail)
    print("sent")
except smtplib.SMTPRecipientsRefused as error:
    print("SMTPRecipientsRefused", *(code for code, text in error.recipients.values()))
except smtplib.SMTPResponseException as error:
    print(type(error).__name__, error.smtp_code, error.smtp_error.decode())
except (smtplib.SMTPException, OSError) as error:
    print(type(error).__name__)
