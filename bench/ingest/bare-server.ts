/**
 * The null server: uWebSockets.js reads and discards the body of a POST and answers 202. What a gateway on this
 * machine could reach at most if it did nothing, and the load generator's own ceiling.
 *
 * Prints `listening <port>`; ends with its stdin.
 */
import { newestBuild } from '../../internal/http/builds.js'
import { PATH } from './requests.js'

const { uws } = newestBuild()
const app = uws.App().post(PATH, (response) => {
  response.onAborted(() => undefined)
  response.onData((_, isLast) => {
    if (!isLast) return
    response.cork(() => {
      response.writeStatus('202 Accepted').end('{}')
    })
  })
})
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen')
  console.log(`listening ${uws.us_socket_local_port(socket)}`)
})
process.stdin.resume().once('close', () => process.exit(0))
