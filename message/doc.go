// Package message is clew's provider-neutral model of what is said in a
// conversation.
//
// Its JSON is that of the messages in pi's session format, version 3. A parsed [Message]
// keeps the bytes it was parsed from, and its JSON method gives exactly those: its fields
// are a view of them, so unknown fields, key order and the spelling of numbers survive.
//
//	m, err := message.Parse([]byte(`{"role":"user","content":"fix the flaky test"}`))
//	fmt.Println(m.Role, m.Text())
//	m = message.User("and run it twice")
//
// A Message is not to be changed after it was parsed or built; [Message.WithContent]
// makes a changed copy that keeps the fields it does not know.
package message
