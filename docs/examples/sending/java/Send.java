import jakarta.mail.Authenticator;
import jakarta.mail.Message;
import jakarta.mail.PasswordAuthentication;
import jakarta.mail.Session;
import jakarta.mail.Transport;
import jakarta.mail.internet.InternetAddress;
import jakarta.mail.internet.MimeBodyPart;
import jakarta.mail.internet.MimeMessage;
import jakarta.mail.internet.MimeMultipart;
import java.util.Properties;

public class Send {
  public static void main(String[] args) throws Exception {
    String user = System.getenv("SMTP_USER");
    Properties properties = new Properties();
    properties.put("mail.smtp.host", System.getenv("SMTP_HOST"));
    properties.put("mail.smtp.port", System.getenv("SMTP_PORT"));
    properties.put("mail.smtp.auth", user != null);
    properties.put("mail.smtp.starttls.required", System.getenv("SMTP_STARTTLS") != null);
    properties.put("mail.smtp.starttls.enable", System.getenv("SMTP_STARTTLS") != null);
    Session session = Session.getInstance(properties, new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication(user, System.getenv("SMTP_PASSWORD"));
      }
    });

    MimeBodyPart text = new MimeBodyPart();
    text.setText("Grüße! Ihr Code ist 482910.", "UTF-8");
    MimeBodyPart html = new MimeBodyPart();
    html.setText("<p>Grüße! Ihr Code ist <b>482910</b>.</p>", "UTF-8", "html");
    MimeBodyPart body = new MimeBodyPart();
    body.setContent(new MimeMultipart("alternative", text, html));
    MimeBodyPart invoice = new MimeBodyPart();
    invoice.attachFile("invoice.pdf");

    MimeMessage message = new MimeMessage(session);
    message.setFrom(new InternetAddress("hello@shop.example", "Café Größe", "UTF-8"));
    message.setRecipients(Message.RecipientType.TO, System.getenv("MAIL_TO"));
    message.setSubject("Grüße: 482910 ist Ihr Code 🎉", "UTF-8");
    message.setContent(new MimeMultipart(body, invoice));
    Transport.send(message);
  }
}
