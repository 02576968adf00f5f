// With a client of openapi-generator (go). Arguments: the address of the API, an API key, and host and port for SMTP.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/smtp"
	"os"
	"strings"

	mayfly "example.test/mayfly"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// ok is the value of a call, or the end of the program.
func ok[T, R any](value T, _ R, err error) T { return must(value, err) }

func main() {
	configuration := mayfly.NewConfiguration()
	configuration.Servers = mayfly.ServerConfigurations{{URL: os.Args[1]}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+os.Args[2])
	client := mayfly.NewAPIClient(configuration)
	ctx := context.Background()

	ttl, subject, seconds := int32(5), "confirm", float32(20)
	create := mayfly.CreateInbox{TtlMinutes: &ttl, Labels: map[string]string{"run": "go"}}
	inbox := ok(client.InboxesAPI.CreateInbox(ctx).CreateInbox(create).Execute())
	mail := strings.Join([]string{
		"From: Shop <no-reply@shop.example>", "To: " + inbox.Address, "Subject: Please confirm your address",
		"MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b", "", "--b", "", "Your code is 482913.",
		"--b", "Content-Type: application/octet-stream; name=terms.bin", "Content-Transfer-Encoding: base64", "",
		"AP+ACg0=", "--b--", "",
	}, "\r\n")
	server := os.Args[3] + ":" + os.Args[4]
	if err := smtp.SendMail(server, nil, "no-reply@shop.example", []string{inbox.Address}, []byte(mail)); err != nil {
		log.Fatal(err)
	}

	request := mayfly.WaitRequest{Match: &mayfly.MessageMatch{Subject: &subject}, TimeoutSeconds: &seconds}
	waited := ok(client.MessagesAPI.WaitForMessages(ctx, inbox.Id).WaitRequest(request).Execute())
	message := ok(client.MessagesAPI.GetMessage(ctx, inbox.Id, waited.Messages[0].Id).Execute())
	raw := must(io.ReadAll(ok(client.MessagesAPI.GetRawMessage(ctx, inbox.Id, message.Id).Execute())))
	attachmentId := message.Attachments[0].Id
	bytes := must(io.ReadAll(ok(client.MessagesAPI.GetAttachment(ctx, inbox.Id, message.Id, attachmentId).Execute())))
	attachment := make([]int, len(bytes))
	for i, b := range bytes {
		attachment[i] = int(b)
	}
	deleted := must(client.InboxesAPI.DeleteInbox(ctx, inbox.Id).Execute())
	_, _, err := client.InboxesAPI.GetInbox(ctx, inbox.Id).Execute()
	var problem mayfly.Problem
	if err := json.Unmarshal(err.(*mayfly.GenericOpenAPIError).Body(), &problem); err != nil {
		log.Fatal(err)
	}

	fmt.Println(string(must(json.Marshal(map[string]any{
		"subject": message.Subject, "code": message.Codes[0].Value, "rawSize": []int{len(raw), int(message.Size)},
		"attachment": attachment, "deleted": deleted.StatusCode, "gone": problem.Code,
	}))))
}
