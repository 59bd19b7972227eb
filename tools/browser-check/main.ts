import { access, constants, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { textAt } from '../../app/demo/members.ts'
import { startPlatformProcess } from '../../app/demo/platform-process.ts'
import { requestToken, type ClientSecrets } from '../../test/support/raw-api.ts'
import { withPage } from './chromium.ts'
import { pageScript, startPageServer, type PageServer } from './page-server.ts'

/** Time for all checks of a page, in milliseconds. */
const patienceMs = 60_000
const chromium = process.env['CHROMIUM'] || '/usr/bin/chromium'

process.exitCode = await access(chromium, constants.X_OK).then(checkPages, () => {
  process.stdout.write(`There is no program ${chromium}. CHROMIUM is the path of a Chromium or Chrome.\n`)
  return 2
})

/** Both pages are on ports of their own, so their origins differ from that of the platform. */
async function checkPages(): Promise<number> {
  const script = await pageScript()
  const folder = await mkdtemp(join(tmpdir(), 'browser-check-platform-'))
  await using own = await startPageServer(script)
  await using foreign = await startPageServer(script)
  const platform = await startPlatformProcess(folder, { CORS_ORIGINS: own.origin, LOG_LEVEL: 'warn' })
  try {
    const { base_url: baseUrl, clients } = platform.credentials
    const token = () => tokenOf(baseUrl, clients[0])
    own.serve({ baseUrl, isForeign: false }, token)
    foreign.serve({ baseUrl, isForeign: true }, token)
    const hasPassed = [await checkPage(own), await checkPage(foreign)]
    return hasPassed.includes(false) ? 1 : 0
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function checkPage({ origin, result }: PageServer): Promise<boolean> {
  const isOver = new AbortController()
  const limit = pause(patienceMs, undefined, { signal: isOver.signal }).then(() => {
    throw new Error(`the page did not end within ${patienceMs / 1_000} s`)
  })
  try {
    const results = await withPage(chromium, `${origin}/`, Promise.race([result, limit]))
    for (const { what, failure } of results)
      process.stdout.write(`${failure === undefined ? 'passed' : 'FAILED'}  ${what}${failure ? `: ${failure}` : ''}\n`)
    return results.every(({ failure }) => failure === undefined)
  } finally {
    isOver.abort()
  }
}

/** As the server of a web application does it: the secret stays there. */
async function tokenOf(baseUrl: string, client: ClientSecrets | undefined): Promise<string> {
  if (client === undefined) throw new Error('the credentials contain no client')
  return textAt((await requestToken(baseUrl, client)).body, 'access_token')
}
