// Confirms a proof of the sealed log with golang.org/x/mod/sumdb, which knows nothing of the platform.
//
//	go run . FILE VKEY
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . FILE VKEY")
		os.Exit(2)
	}
	entry, size, err := check(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
	fmt.Printf("the log of %d events contains %s\n", size, entry)
}

func check(file, vkey string) (string, int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", 0, err
	}
	head, checkpoint, found := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return "", 0, fmt.Errorf("not a proof")
	}
	entry, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		return "", 0, err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return "", 0, err
	}
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return "", 0, err
		}
		proof = append(proof, hash)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return "", 0, err
	}
	opened, err := note.Open(checkpoint, note.VerifierList(verifier))
	if err != nil {
		return "", 0, err
	}
	parts := strings.Split(opened.Text, "\n")
	if len(parts) < 4 || parts[0] != verifier.Name() {
		return "", 0, fmt.Errorf("not a checkpoint of this log")
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return "", 0, err
	}
	root, err := tlog.ParseHash(parts[2])
	if err != nil {
		return "", 0, err
	}
	return string(entry), size, tlog.CheckRecord(proof, size, root, index, tlog.RecordHash(entry))
}
