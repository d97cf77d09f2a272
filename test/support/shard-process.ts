/**
 * One server of a cluster of ClickHouse for the tests: an engine that answers over HTTP and, for the other servers,
 * over TCP. Run it compiled: node dist/test/support/shard-process.js <folder> <http port> <tcp port> <tcp ports of all,
 * comma-separated>
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadLibchdb } from '../../internal/store/engine/libchdb.js'

const [folder = '', httpPort = '', tcpPort = '', all = ''] = process.argv.slice(2)
const shards = all
  .split(',')
  .map((port) => `<shard><replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`)
mkdirSync(folder, { recursive: true })
const users = join(folder, 'users.xml')
writeFileSync(
  users,
  `<clickhouse>
  <profiles><default/></profiles><quotas><default/></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile><quota>default</quota></default></users>
</clickhouse>`,
)
const config = join(folder, 'config.xml')
writeFileSync(
  config,
  `<clickhouse>
  <users_config>${users}</users_config>
  <max_server_memory_usage>1073741824</max_server_memory_usage>
  <remote_servers><two>${shards.join('')}</two></remote_servers>
  <logger><level>error</level><console>1</console></logger>
</clickhouse>`,
)
void loadLibchdb().runLocal([
  'clickhouse',
  `--path=${join(folder, 'data')}`,
  `--http_port=${httpPort}`,
  `--tcp_port=${tcpPort}`,
  '--listen_host=127.0.0.1',
  `--config-file=${config}`,
  '--query',
  'SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT sleepEachRow(1) FROM system.numbers SETTINGS ' +
    'max_block_size = 1 FORMAT Null',
])
// The test has ended. An exit would wait for the engine, whose statement never ends.
process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGKILL'))
