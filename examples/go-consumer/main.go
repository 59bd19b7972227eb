// Follows a channel with a checkpoint of its own. It may end at any moment, by SIGKILL too.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/kurrent-io/KurrentDB-Client-Go/kurrentdb"
	_ "modernc.org/sqlite"
)

var counted = map[string]bool{"assessment.completed": true, "assessment.failed": true, "assessment.reviewed": true}

const tables = `
	CREATE TABLE IF NOT EXISTS totals (
		org_id TEXT, event_type TEXT, count INTEGER NOT NULL, PRIMARY KEY (org_id, event_type)) STRICT;
	CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY) STRICT;
	CREATE TABLE IF NOT EXISTS checkpoint (channel TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT`

func main() {
	channel := cmp.Or(os.Getenv("CHANNEL"), "assessment.events")
	database, err := openDatabase(cmp.Or(os.Getenv("DATABASE"), "totals.sqlite"))
	if err != nil {
		log.Fatal(err)
	}
	for {
		log.Print(follow(channel, database))
		time.Sleep(time.Second)
	}
}

func connect() (*kurrentdb.Client, error) {
	address := url.URL{
		Scheme: "esdb",
		User:   url.UserPassword(os.Getenv("EVENTSTORE_LOGIN"), os.Getenv("EVENTSTORE_PASSWORD")),
		Host:   os.Getenv("EVENTSTORE_ADDRESS"),
		RawQuery: url.Values{
			"tls":       {"true"},
			"tlsCAFile": {os.Getenv("EVENTSTORE_CA_FILE")},
		}.Encode(),
	}
	settings, err := kurrentdb.ParseConnectionString(address.String())
	if err != nil {
		return nil, err
	}
	return kurrentdb.NewClient(settings)
}

func openDatabase(path string) (*sql.DB, error) {
	database, err := sql.Open("sqlite", "file:"+url.PathEscape(path)+"?_pragma=busy_timeout(30000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = database.Exec(tables)
	return database, err
}

// follow handles events until an error.
func follow(channel string, database *sql.DB) error {
	from, err := checkpoint(channel, database)
	if err != nil {
		return err
	}
	client, err := connect()
	if err != nil {
		return err
	}
	defer client.Close()
	events, err := client.SubscribeToStream(context.Background(), channel, kurrentdb.SubscribeToStreamOptions{From: from})
	if err != nil {
		return err
	}
	defer events.Close()
	fmt.Println("follows", channel, "after", from)
	for {
		message := events.Recv()
		if message.SubscriptionDropped != nil {
			return fmt.Errorf("the subscription ended: %w", message.SubscriptionDropped.Error)
		}
		if message.EventAppeared == nil {
			continue
		}
		event := message.EventAppeared.OriginalEvent()
		if err := countAndStore(event, database); err != nil {
			return err
		}
		fmt.Println(event.EventNumber, event.EventType, event.EventID)
	}
}

func checkpoint(channel string, database *sql.DB) (kurrentdb.StreamPosition, error) {
	var revision uint64
	err := database.QueryRow("SELECT revision FROM checkpoint WHERE channel = ?", channel).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		return kurrentdb.Start{}, nil
	}
	return kurrentdb.Revision(revision), err
}

// countAndStore counts an event, and stores its revision in the same transaction. A crash leaves both or nothing.
func countAndStore(event *kurrentdb.RecordedEvent, database *sql.DB) error {
	work, err := database.Begin()
	if err != nil {
		return err
	}
	defer work.Rollback() // does nothing after the commit
	if err := count(event, work); err != nil {
		return err
	}
	_, err = work.Exec(`INSERT INTO checkpoint VALUES (?, ?)
		ON CONFLICT (channel) DO UPDATE SET revision = excluded.revision`, event.StreamID, event.EventNumber)
	if err != nil {
		return err
	}
	return work.Commit()
}

func count(event *kurrentdb.RecordedEvent, work *sql.Tx) error {
	// Channels get new types without notice. Ignore them.
	if !counted[event.EventType] {
		return nil
	}
	// event_id in the data is the id of the event. A repeat has no effect.
	inserted, err := work.Exec("INSERT INTO handled VALUES (?) ON CONFLICT DO NOTHING", event.EventID.String())
	if err != nil {
		return err
	}
	if rows, err := inserted.RowsAffected(); err != nil || rows == 0 {
		return err
	}
	var data struct {
		OrgID string `json:"org_id"`
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return err
	}
	_, err = work.Exec(`INSERT INTO totals VALUES (?, ?, 1)
		ON CONFLICT (org_id, event_type) DO UPDATE SET count = count + 1`, data.OrgID, event.EventType)
	return err
}
