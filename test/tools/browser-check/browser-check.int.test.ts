import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { pageScript, startPageServer } from '../../../tools/browser-check/page-server.ts'

const main = fileURLToPath(new URL('../../../tools/browser-check/main.ts', import.meta.url))

it('without Chromium the check says what it needs, and does not pass', () => {
  const env = { PATH: process.env['PATH'], CHROMIUM: '/no/chromium' }
  const { status, stdout } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' })
  expect([status, stdout]).toEqual([2, expect.stringContaining('no program /no/chromium. CHROMIUM is the path')])
})

it('the page has the client in one script, and gets a token from its own server', async () => {
  await using server = await startPageServer(await pageScript())
  server.serve({ baseUrl: 'http://127.0.0.1:1', isForeign: true }, async () => 'a-token')
  const read = async (path: string, init: RequestInit = {}) => (await fetch(`${server.origin}${path}`, init)).text()
  expect(await read('/')).toContain('src="/page.js"')
  const script = await read('/page.js')
  expect(script).toContain('does not belong in a browser')
  expect(script).not.toMatch(/^import /m)
  expect(await read('/token')).toBe('a-token')
  const results = [{ what: 'a check' }]
  await read('/result', { method: 'POST', body: JSON.stringify(results) })
  expect(await server.result).toEqual(results)
})
