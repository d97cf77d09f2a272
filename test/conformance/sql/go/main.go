// program host port database user password: what Grafana's plugin does by clickhouse-go over HTTP.
// Prints `ok check` or `not ok check: why` for each.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func check(name string, run func() error) {
	if err := run(); err != nil {
		fmt.Printf("not ok %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("ok %s\n", name)
}

func open(compression clickhouse.CompressionMethod, password string) *sql.DB {
	return clickhouse.OpenDB(&clickhouse.Options{
		Addr:        []string{os.Args[1] + ":" + os.Args[2]},
		Protocol:    clickhouse.HTTP,
		Auth:        clickhouse.Auth{Database: os.Args[3], Username: os.Args[4], Password: password},
		Compression: &clickhouse.Compression{Method: compression},
		Settings:    clickhouse.Settings{"max_execution_time": 60},
		DialTimeout: 10 * time.Second,
	})
}

// Rows are read as Grafana does, by the types that the columns have.
func rows(db *sql.DB, query string, args ...any) ([][]any, error) {
	found, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	types, err := found.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for found.Next() {
		row := make([]any, len(types))
		into := make([]any, len(types))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, found.Err()
}

func some(db *sql.DB, query string, args ...any) func() error {
	return func() error {
		found, err := rows(db, query, args...)
		if err == nil && len(found) == 0 {
			return fmt.Errorf("no rows")
		}
		return err
	}
}

func refused(run func() error, wanted ...string) func() error {
	return func() error {
		err := run()
		if err == nil {
			return fmt.Errorf("no refusal")
		}
		for _, text := range wanted {
			if !strings.Contains(err.Error(), text) {
				return err
			}
		}
		return nil
	}
}

func main() {
	methods := map[string]clickhouse.CompressionMethod{
		"plain": clickhouse.CompressionNone,
		"LZ4":   clickhouse.CompressionLZ4,
		"gzip":  clickhouse.CompressionGZIP,
	}
	for name, method := range methods {
		db := open(method, os.Args[5])
		of := func(what string) string { return what + ", " + name }
		check(of("connect"), db.Ping)
		check(of("databases"), some(db, "SHOW DATABASES"))
		check(of("tables"), some(db, fmt.Sprintf(`SHOW TABLES FROM "%s"`, os.Args[3])))
		check(of("columns"), some(db, "SELECT name, type, table FROM system.columns"))
		check(of("describe"), some(db, fmt.Sprintf(`DESC TABLE "%s"."records"`, os.Args[3])))
		check(of("functions"), some(db, `SELECT name, is_aggregate, case_insensitive, alias_to, origin, description,
			syntax, arguments, returned_value, examples, categories FROM system.functions LIMIT 10000`))
		check(of("a panel"), some(db, fmt.Sprintf(`SELECT toStartOfInterval(event_time, INTERVAL 3600 second) as "time",
			service, sum(cost_usd) FROM "%s"."records" WHERE ( event_time >= toDateTime64(1, 3) AND
			event_time <= toDateTime64(4000000000, 3) ) GROUP BY time, service ORDER BY time ASC LIMIT 1000`, os.Args[3])))
		check(of("a question with parameters"), some(db, "SELECT count() FROM records WHERE service = ?", "search"))
		check(of("a named parameter"), some(db, "SELECT count() FROM records WHERE service = {service:String}",
			clickhouse.Named("service", "search")))
		check(of("tags"), some(db, "SELECT tags, cost_usd, event_time FROM records LIMIT 2"))
		check(of("an unknown column"), refused(some(db, "SELECT nothing FROM records"), "47", "nothing"))
		check(of("a table that is not there"), refused(some(db, "SELECT * FROM attributions"), "497", "documented"))
		check(of("a wrong password"), refused(open(method, "x").Ping, "516", "not valid"))
		db.Close()
	}
}
