"""A fixture of the user's test suite: it makes the application send its mail."""
import os, smtplib, pytest
from email.message import EmailMessage
@pytest.fixture
def request_login_code():
    def send(address):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "app@example.org", address, "Your code"
        mail.set_content("Your code is 482910.")
        with smtplib.SMTP("127.0.0.1", int(os.environ["SMTP_PORT"])) as smtp:
            smtp.send_message(mail)
    return send
