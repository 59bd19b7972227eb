import { randomUUID } from 'node:crypto'
import { createServer, request } from 'node:http'
import { listenOnLoopback } from '../../embedded/children/loopback-server.ts'
import { hostedProvider } from './hosted-stand-ins.ts'
import { areRolesApart } from './platform.ts'
import { providerAt, type TestProvider } from './provider.ts'

/** A provider for the production profile, which refuses the simulator. */
export interface UnmarkedProvider {
  /** PROVIDER_BASE_URL and its login. */
  readonly env: Readonly<Record<'PROVIDER_BASE_URL' | 'PROVIDER_LOGIN' | 'PROVIDER_PASSWORD', string>>
  readonly provider: TestProvider
  /** From now on its answers contain the simulator's mark. */
  showMark(): void
  close(): Promise<void>
}

/** The simulator behind a server that removes its mark from each answer. */
export async function startUnmarkedProvider(): Promise<UnmarkedProvider> {
  const secret = randomUUID()
  const simulator = await hostedProvider({
    login: 'platform',
    password: secret,
    controlSecret: secret,
  })
  let isMarkShown = false
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const onward = request({ host: '127.0.0.1', port: simulator.port, method, path: url, headers }, (answer) => {
      const { 'x-provider-simulator': mark, ...others } = answer.headers
      outgoing.writeHead(answer.statusCode ?? 502, isMarkShown && mark !== undefined ? answer.headers : others)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  const port = await listenOnLoopback(server, 'unmarked provider', 0)
  return {
    env: { PROVIDER_BASE_URL: `http://127.0.0.1:${port}`, PROVIDER_LOGIN: 'platform', PROVIDER_PASSWORD: secret },
    provider: providerAt(simulator.url, secret, areRolesApart),
    showMark: () => void (isMarkShown = true),
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await simulator.stop()
    },
  }
}
