/**
 * The suite has two rings. `npm test` runs the inner one, in which every invariant of `internal/README.md` has a test,
 * within 1,000 seconds of processor time; `npm run test:all` runs both. A file belongs to the inner ring unless it is
 * listed here. Around both is the ring of conformance, which needs programs of others: `npm run test:conformance`.
 */

/** Set by `npm run test:all`. */
export const RUNS_BOTH_RINGS = process.env['TEST_RING'] === 'all'

/** How many cases a property draws of those that it is worth: the inner ring draws a fifth. */
export const drawn = (cases: number): number => (RUNS_BOTH_RINGS ? cases : Math.ceil(cases / 5))

/** Of many that are alike, such as the steps at which something crashes: the inner ring tries every third. */
export const someOf = <T>(all: readonly T[]): readonly T[] =>
  RUNS_BOTH_RINGS ? all : all.filter((_, at) => at % 3 === 0)

/** The numbers from one. */
export const someUpTo = (last: number): readonly number[] => someOf(Array.from({ length: last }, (_, at) => at + 1))

/**
 * The files of the outer ring, each with what it alone would catch. Most take ten seconds of processor time and more,
 * and the inner ring holds a part of what they do.
 */
export const OUTER: Readonly<Record<string, string>> = {
  // Kills: the inner ring has those of gateways and brokers, and simulations of planned logs and of keys.
  'test/faults/random-faults.test.ts': 'what only several faults at once, in the whole product, lead to',
  'test/faults/kill.test.ts':
    'records lost or doubled by a kill of the supervisor, the store or the attributor in a replay',
  'test/faults/two-gateways-kill.test.ts':
    'an event lost or doubled by a kill of one of two gateways under load (`own-instance/admission` kills one role)',
  'test/faults/repeated-events-kill.test.ts':
    'a second record of an event that comes again while gateways and attributors are killed',
  'test/faults/changes-kill.test.ts':
    'a change lost or made twice, or rollups that differ, after a kill of any process',
  'test/faults/seen-twice-kill.test.ts': 'two records of one call whose merge was killed',
  'test/faults/webhooks-kill.test.ts': 'a webhook lost, or out of order, after a kill at 1,000 events per second',
  'test/faults/export-kill.test.ts':
    'an export of other bytes after a kill of the real exporter (the engine tests fail its store)',
  'test/faults/export-schedules-kill.test.ts':
    'a scheduled period delivered twice, or not at all, after a kill of the exporter',
  'test/faults/power-cut.test.ts':
    'a call lost or doubled by a power cut, or a start that fails after one (as root, with `btrfs-progs`)',
  'test/faults/partitions-under-load.test.ts':
    'events lost or doubled when the number of partitions changes under load',
  'test/own-instance/overrides.test.ts': 'an override of 30,000 records that kills interrupt',
  'test/own-instance/reattribution.test.ts':
    'a re-attribution or revaluation job that kills interrupt, or that forgets overrides',

  // Models: `product/evidence-card` trains, serves and recalls one in the inner ring.
  'test/own-instance/models.test.ts': 'a card of a model, a candidate or a restored version that is wrong',
  'test/faults/models.test.ts':
    'a damaged model that serves, a training that is doubled by kills, a slow model that stays',
  'test/internal/inference/learning/look.test.ts':
    'unlabelled calls of a new service that look like those of a known one (`learning/train` has one that does not)',
  'test/internal/inference/learning/audit-shift.test.ts':
    'audits that move the share of a class too far, or not at all',
  'test/internal/inference/learning/surprises.test.ts':
    'a kind of traffic with which a model fails its gate, or names calls wrongly (`learning/train` holds the plain one)',
  'test/own-instance/model-drift.test.ts': 'a model that goes on serving although services have changed',

  // The broker's outages: `own-instance/admission` has one with a kill, `spool-kill` the spool alone.
  'test/own-instance/outage.test.ts':
    'accepted events lost where the spool or its disk is full, a connection that keeps a gateway waiting for ever',
  'test/own-instance/spooled-before.test.ts':
    'spooled events doubled, or their keys taken again, by gateways while the log is full',
  'test/own-instance/full-disk.test.ts': 'accepted events lost on a real disk that fills up',

  // Operators: what they do seldom.
  'test/own-instance/backup.test.ts': 'a backup that lacks something, a restore that loses or doubles something',
  'test/own-instance/copied-folder.test.ts': 'a copy of a live data folder that starts, or touches the original',
  'test/faults/upgrade-by-drain.test.ts': 'an event lost or doubled by the replacement of a version',
  'test/own-instance/shippers.test.ts':
    'lines that a real shipper sends in another way than we think (the unit tests have the bodies of several)',
  'test/own-instance/load-balancer.test.ts':
    'a request that fails behind nginx, HAProxy or Envoy, as our page sets them up, while gateways are replaced',
  'test/own-instance/master-key.test.ts': 'a rotation that leaves a value under the old key, or refuses requests',
  'test/own-instance/audit-log.test.ts':
    'a record altered in the real store that `audit verify` does not name (`internal/audit/verify-audit` holds the rule)',
  'test/own-instance/doctor.test.ts': 'a fault that `attribution doctor` does not find',
  'test/cmd/store/lifecycle.test.ts':
    'a store that stops uncleanly, or does not say why it cannot start (`admission` kills one under load)',
  'test/cmd/store/foreign-tables.test.ts':
    'a store that serves a table which somebody put into its folder (`cmd/store/access` holds the rule)',
  'test/own-instance/layout.test.ts':
    'a role that starts although its settings contradict the layout (`internal/broker/layout` holds the rule)',
  'test/own-instance/leaving.test.ts': 'a gateway that a load balancer still asks when it has ended',
  'test/own-instance/quarantine.test.ts':
    'a command that does not list or replay what is quarantined (`internal/broker/quarantine-log` holds the log)',
  'test/own-instance/frozen-dependencies.test.ts':
    'an answer that waits for a frozen store or broker (`admission` kills them, `internal/store/silence` times them)',
  'test/own-instance/starting.test.ts': 'an unclear line on the terminal of a program that cannot start',
  'test/own-instance/prometheus.test.ts':
    'a query of a board that shows nothing, an alert that does not fire (with Prometheus)',
  'test/own-instance/prometheus-faults.test.ts': 'an alert that does not fire at its fault, or does not end with it',

  'test/own-instance/metrics.test.ts':
    'a metric of a role that Prometheus refuses, or that does not count (`telemetry/metrics` holds the registry)',
  'test/own-instance/spans.test.ts':
    'a span that is missing between two roles (`otlp/own-spans` and `telemetry/spans` hold what one of them does)',
  'test/internal/store/migrations/migrate.test.ts':
    'a first start of two stores at once, or one that was cut off (`own-instance/upgrade` takes the steps)',
  'test/internal/store/compaction.test.ts':
    'a version of a record that compaction removes too early, or an entry that it moves twice',

  // Much of the same: other files hold the parts.
  'test/faults/clusters.test.ts':
    'what only clusters of the official images do (`npm run test:containers`; `random-faults` has three nats-servers)',
  'test/own-instance/deployments.test.ts':
    'a unit of systemd or a service of Compose that cannot write what it needs to',
  'test/own-instance/api-keys.test.ts':
    'a key or setting that another gateway knows late (`access/credentials-watch` and `two-gateways` hold the parts)',
  'test/own-instance/lane.test.ts':
    'a second record of an event of the lane (`attribution/stages/lane` holds the actor)',
  'test/own-instance/tls.test.ts': 'a port or a page that is wrong over TLS (`internal/http/tls` holds the listener)',
  'test/own-instance/newer-node.test.ts': 'a difference of Node 24 and its parser',
  'test/own-instance/flooding-tenant.test.ts': 'a tenant that delays others by filling the log',
  'test/own-instance/sandbox.test.ts': 'a sandbox that lacks a kind of record, credentials of the other mode that work',
  'test/own-instance/oauth-two-gateways.test.ts':
    'a token, code or revocation that one gateway knows and another does not',
  'test/own-instance/repeated-events.test.ts':
    'a second record of an event that comes to another gateway later, or in bulk (`two-gateways` sends it at once)',
  'test/own-instance/energy-tables.test.ts':
    'an accepted energy table that computes no call, or one that is undone and goes on',
  'test/own-instance/price-proposals.test.ts':
    'a proposed price book that changes a price before a yes, or none after it (`valuation/books` holds the rules)',
  'test/own-instance/price-proposals-refused.test.ts':
    'a price book of another form, or proposed on an older one, that is taken',
  'test/product/reported-cases.test.ts': 'a cost that another product was reported to get wrong (where the cases are)',
  'test/own-instance/price-books.test.ts': 'an import that reprices existing records, or accepts a suspicious row',
  'test/own-instance/sentinel.test.ts': 'a threshold of a budget emitted twice, or never, by sentinels that are killed',
  'test/internal/exports/exported-rows.test.ts':
    'a row of a meter, a day or a FOCUS version that is wrong (`exported-records` holds what is in the file, and sums)',
  'test/internal/exports/exported-tags.test.ts':
    'a tag that an export leaves out, or that names few people (`exported-cohorts` holds the rule)',
  'test/product/exports.test.ts': 'an export that HTTP orders or downloads wrongly (the engine tests hold its content)',
  'test/internal/store/forgetting.test.ts':
    'an erasure that leaves a name somewhere, or changes a sum, at any of its steps',
  'test/product/client-package.test.ts':
    'a packed client library that does not install or import (`internal/sdk` and `client-libraries` hold what it does)',
  'test/deploy/clients/wheel.test.ts':
    'a wheel of the Python client that does not install, or lacks a file (`deploy/clients/python` holds what it does)',
  'test/deploy/clients/python-packages.test.ts':
    'a type that mypy finds changed by `wrap`, a call that is lost where gevent makes greenlets of threads',
  'test/deploy/clients/python-versions.test.ts':
    'a call that the Python client loses under 3.9 or without the GIL (`deploy/clients/python` has one version)',
  'test/internal/sdk/types-of-majors.test.ts':
    'a type that `wrap` changes in another major of an SDK (`types-openai` and `types-anthropic` hold one of each)',
  'test/internal/store/queries/exports/export-folds.test.ts':
    'a drawn set of groups that SQL folds otherwise (`exports/exported-cohorts` and `cohorts/folded` draw others)',
  'test/internal/reports/questions.test.ts':
    'a field by which a report asks other calls than it counts (`product/reports` and `store/…/dimensions` have some)',
  'test/internal/store/tables/packed-fields.test.ts':
    'a packed field that is read otherwise than its columns (`tables/field-codec` and `list-records` hold the codec)',
  'test/internal/store/queries/reports/compared.test.ts':
    'a difference to the period before that is wrong, or that shows few people (`reports/answer` holds one period)',
  'test/internal/sql/driver-statements.test.ts':
    'a statement with which a driver of three years connects, and that is refused (`sql/queries` has one of each kind)',
  'test/internal/ingest/turns-of-a-request.test.ts':
    'a route that reads some body in one turn (`bodies/bytes-read` and `bulk/body-elements` hold the readers)',
  'test/internal/ingest/keys/fingerprint-statistics.test.ts':
    'a fingerprint of bodies whose bits depend on each other (`keys/body-fingerprint` has bodies that must differ)',
  'test/product/trace.test.ts': 'a total that is wrong in the last digit over the whole real trace',
  'test/own-instance/otlp.test.ts': 'content of a span or log record of a real SDK that is kept somewhere',
  'test/own-instance/shared-limits.test.ts': 'a caller whose budget two gateways count apart',
  'test/product/console-administration.test.ts': 'a form of the console that makes or changes something wrongly',
  'test/product/console-budgets.test.ts':
    'a page of budgets that shows a crossing late, or a test as heard that was not',
  'test/product/console-sources-prices.test.ts': 'pages of sources, prices and models that show or do something wrong',
  'test/product/console-places.test.ts': 'a tag, setting, pool or schedule that the console changes wrongly',
  'test/product/console-corrections.test.ts': 'a correction in the console that changes other records than it showed',
  'test/own-instance/traces.test.ts':
    'a record that late evidence of its trace does not correct, beside kills and overrides',
  // `console` holds its figures, `console-session` its sign-in, `console-tasks` two ways through it.
  'test/product/console-more-tasks.test.ts':
    'a task that people come to the console for, and that takes too many steps',
  'test/product/console-anomalies.test.ts': 'an anomaly that the console does not list, or that leads to other calls',
  'test/product/console-answers.test.ts': 'an answer of Unattributed that moves other calls than it says',
  'test/product/console-changes.test.ts': 'a line of what changed that is wrong, or leads elsewhere',
  'test/product/console-chart.test.ts': 'a chart that shows, marks or opens something wrongly',
  'test/product/console-loading.test.ts': 'figures that look current while they load, or while the store is away',
  'test/product/console-trust.test.ts': 'an amount of what is charged that is not the sum of what is behind it',
  'test/product/console-views.test.ts': 'a saved view, or a key of the palette, that leads elsewhere',
  'test/product/console-states.test.ts': 'pages of the console while they load, are empty, or lack the right',
  'test/internal/store/queries/records/record-sample.test.ts': 'a sample of 150,000 rows that does not stand for them',
  'test/internal/store/tables/sorted-copies.test.ts': 'a part of 80,000 rows that has a file per column',
  'test/internal/store/settling.test.ts': 'sorted copies that a stopped or frozen process leaves incomplete',
  'test/internal/store/shards.test.ts': 'rows that are lost or doubled on a ClickHouse of several shards',
}

export const isOuter = (file: string): boolean => Object.hasOwn(OUTER, file)

export const isConformance = (file: string): boolean => file.startsWith('test/conformance/')
