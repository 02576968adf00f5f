package main

import (
	"log"
	"mime"
	"net/smtp"
	"os"
)

func main() {
	host, to := os.Getenv("SMTP_HOST"), os.Getenv("MAIL_TO")

	var auth smtp.Auth
	if user := os.Getenv("SMTP_USER"); user != "" {
		auth = smtp.PlainAuth("", user, os.Getenv("SMTP_PASSWORD"), host)
	}

	message := "From: " + mime.QEncoding.Encode("utf-8", "Café Größe") + " <hello@shop.example>\r\n" +
		"To: " + to + "\r\n" +
		"Subject: " + mime.QEncoding.Encode("utf-8", "Grüße: 482910 ist Ihr Code 🎉") + "\r\n" +
		"MIME-Version: 1.0\r\n" +
		"Content-Type: multipart/alternative; boundary=b1\r\n" +
		"\r\n" +
		"--b1\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n" +
		"\r\n" +
		"Grüße! Ihr Code ist 482910.\r\n" +
		"--b1\r\n" +
		"Content-Type: text/html; charset=utf-8\r\n" +
		"\r\n" +
		"<p>Grüße! Ihr Code ist <b>482910</b>.</p>\r\n" +
		"--b1--\r\n"

	err := smtp.SendMail(host+":"+os.Getenv("SMTP_PORT"), auth, "hello@shop.example", []string{to}, []byte(message))
	if err != nil {
		log.Fatal(err)
	}
}
