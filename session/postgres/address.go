package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// poolSize is the number of connections of a process unless the URL sets it
	// (pool_max_conns), and poolIdle is after which time one that is not used is closed,
	// so that other processes can have it if there are too few (pool_max_conn_idle_time,
	// pool_health_check_period).
	poolSize  = 16
	poolIdle  = 10 * time.Second
	poolCheck = 5 * time.Second

	// connectTimeout bounds one attempt, unless the URL sets connect_timeout.
	connectTimeout = 5 * time.Second

	// listenHosts is the parameter with the addresses for the connection that
	// listens, if a pooler is at the address of the URL.
	listenHosts = "listen_hosts"
)

// address is where a database is.
type address struct {
	pool   *pgxpool.Config
	listen *pgx.ConnConfig // of the connection that listens; nil if it is like the others
	mode   bool            // the URL says how statements are executed
}

// errURL does not quote the URL, which may contain a password in an unexpected place.
var errURL = errors.New("the URL of the database cannot be read: it should be like postgres://user:password@host:5432/database")

// parse parses the URL.
func parse(url string) (*address, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	p := &address{pool: config, mode: strings.Contains(url, "default_query_exec_mode")}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = poolSize
	}
	if !strings.Contains(url, "pool_max_conn_idle_time") {
		config.MaxConnIdleTime = poolIdle
	}
	if !strings.Contains(url, "pool_health_check_period") {
		config.HealthCheckPeriod = poolCheck
	}
	if hosts, ok := config.ConnConfig.RuntimeParams[listenHosts]; ok {
		delete(config.ConnConfig.RuntimeParams, listenHosts)
		if p.listen, err = at(url, hosts); err != nil {
			return nil, err
		}
		complete(p.listen, url)
	}
	complete(config.ConnConfig, url)
	return p, nil
}

// complete sets what the URL leaves open.
func complete(c *pgx.ConnConfig, url string) {
	if !strings.Contains(url, "connect_timeout") {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "parley"
	}
	// Of several servers only the primary is of use.
	explicit := strings.Contains(url, "target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != "" //nolint:forbidigo // of libpq
	for _, other := range c.Fallbacks {
		if !explicit && (other.Host != c.Host || other.Port != c.Port) {
			c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
}

// at returns the configuration for a URL with other addresses, such as
// one:5432,two:5432.
func at(dsn, hosts string) (*pgx.ConnConfig, error) {
	var names, ports []string
	for host := range strings.SplitSeq(hosts, ",") {
		name, port, err := net.SplitHostPort(strings.TrimSpace(host))
		if err != nil {
			name, port = strings.TrimSpace(host), "5432"
		}
		if name == "" || strings.ContainsAny(name+port, `'\`) {
			return nil, fmt.Errorf("%s in the URL of the database should be like one.example.com:5432,two.example.com:5432", listenHosts)
		}
		names, ports = append(names, name), append(ports, port)
	}
	host, port := strings.Join(names, ","), strings.Join(ports, ",")
	if strings.Contains(dsn, "://") {
		u, err := url.Parse(dsn)
		if err != nil {
			return nil, errURL
		}
		query := u.Query()
		query.Set("host", host)
		query.Set("port", port)
		u.Host, u.RawQuery = "", query.Encode()
		dsn = u.String()
	} else {
		dsn += " host='" + host + "' port='" + port + "'"
	}
	config, err := pgxpool.ParseConfig(dsn) // which knows the parameters of a pool
	if err != nil {
		return nil, errURL
	}
	delete(config.ConnConfig.RuntimeParams, listenHosts)
	return config.ConnConfig, nil
}

// errPooler means that the connection is one to a pooler, and was closed, because
// the next one has to execute statements in another way.
var errPooler = errors.New("a pooler is at the address of the database")

// setExecMode sets how statements are executed on a connection. A pooler gives each
// transaction another connection to the database, where statements that were
// prepared before are not known. Their descriptions are.
func (s *backend) setExecMode(c *pgx.ConnConfig) {
	if s.pooled.Load() && !s.address.mode {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// detect finds out whether a connection is to a pooler: it does not know the process
// of the database that executes a statement, and has made up a number.
func (s *backend) detect(ctx context.Context, conn *pgx.Conn) error {
	if s.pooled.Load() {
		return nil
	}
	var pid int64
	if err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if pid == int64(conn.PgConn().PID()) {
		return nil
	}
	s.pooled.Store(true)
	s.log.Warn("a pooler is at the address of the database: if it pools transactions, changes of other servers are noticed late, " +
		"unless listen_hosts in the URL has the address of the database itself")
	_ = conn.Close(ctx)
	return errPooler
}

// connect makes a connection that does not belong to the pool.
func (s *backend) connect(ctx context.Context) (*pgx.Conn, error) {
	c := s.pool.Config().ConnConfig
	s.setExecMode(c)
	return pgx.ConnectConfig(ctx, c)
}
